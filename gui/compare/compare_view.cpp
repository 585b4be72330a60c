#include "gui/compare/compare_view.hpp"

#include <QComboBox>
#include <QPainter>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>

#include "gui/charts/chart_widget.hpp"
#include "gui/charts/draw.hpp"
#include "gui/charts/fill_when_seen.hpp"
#include "gui/charts/table_view.hpp"

namespace foreshard::gui {

namespace {

const char* const hint =
    "Open a second plan, report or trace (or pin the plan at hand as baseline and change it)\n"
    "to see why one takes longer than the other.";

}  // namespace

CompareView::CompareView(ViewState& state, QWidget* parent) : QWidget(parent), state_(state) {
    setAccessibleName("Comparison of two runs");
    filling_ = new FillWhenSeen(this, [this] { compareNow(); });
    chooser_ = new QComboBox;
    chooser_->setAccessibleName("Run that is compared with A");
    chooser_->hide();
    connect(chooser_, &QComboBox::activated, this, [this](int index) { compareWith(index + 1); });
    chart_ = new ChartWidget([this](QPainter& painter, const QRect& area) {
        if (!compared_) return drawHint(painter, area, hint, theme(theme_));
        paintExplanation(painter, area, *compared_, theme(theme_));
    });
    chart_->setAccessibleName("What makes the difference of the step times");
    figures_ = new TableView("Figures of A and B");
    settings_ = new TableView("Settings that differ");
    unmatchedTable_ = new TableView("Spans without a partner in the other run");
    connect(unmatchedTable_, &TableView::rowActivated, this, [this](int row) {
        if (static_cast<std::size_t>(row) >= unmatched_.size()) return;
        const UnmatchedGroup& group = unmatched_[static_cast<std::size_t>(row)];
        Selection selection;
        selection.kind = Selection::Kind::span;
        selection.run = group.run == 0 ? 0 : static_cast<std::size_t>(other_);
        selection.span = group.first;
        state_.select(selection);
    });
    auto* tabs = new QTabWidget;
    tabs->addTab(figures_, "Fi&gures");
    tabs->addTab(settings_, "&Settings that differ");
    tabs->addTab(unmatchedTable_, "&Unmatched");
    auto* splitter = new QSplitter;
    splitter->addWidget(chart_);
    splitter->addWidget(tabs);
    splitter->setSizes({550, 450});
    auto* box = new QVBoxLayout(this);
    box->setContentsMargins(0, 0, 0, 0);
    box->addWidget(chooser_);
    box->addWidget(splitter, 1);
    setTheme(theme_);
}

void CompareView::setRuns(std::vector<const Run*> runs) {
    runs_ = std::move(runs);
    chooser_->clear();
    for (std::size_t i = 1; i < runs_.size(); ++i) {
        chooser_->addItem("B: " + QString::fromStdString(runs_[i]->name));
    }
    chooser_->setVisible(runs_.size() > 2);
    compareWith(1);
}

void CompareView::compareWith(int index) {
    other_ = index;
    compared_.reset();
    unmatched_.clear();
    filling_->request();
}

void CompareView::compareNow() {
    const auto other = static_cast<std::size_t>(other_);
    if (other < runs_.size()) {
        compared_ = compareRuns(*runs_[0], *runs_[other]);
        unmatched_ = unmatchedGroups(compared_->comparison, *runs_[0], *runs_[other]);
    }
    figures_->setTable(compared_ ? figuresTable(*compared_->a, *compared_->b) : Table{});
    settings_->setTable(compared_ ? settingsTable(compared_->comparison) : Table{});
    unmatchedTable_->setTable(compared_ ? unmatchedTable(unmatched_, *compared_->a, *compared_->b) : Table{});
    chart_->setAccessibleDescription(compared_ ? comparisonText(*compared_) : QString(hint));
    chart_->update();
}

void CompareView::setTheme(ThemeKind kind) {
    theme_ = kind;
    applyTheme(*this, theme(kind));
    for (TableView* table : {figures_, settings_, unmatchedTable_}) table->setTheme(kind);
    chart_->update();
}

void CompareView::paint(QPainter& painter, const QRect& area) const {
    const auto other = static_cast<std::size_t>(other_);
    if (compared_) return paintComparison(painter, area, *compared_, theme(theme_));
    if (other >= runs_.size()) return drawHint(painter, area, hint, theme(theme_));
    paintComparison(painter, area, compareRuns(*runs_[0], *runs_[other]), theme(theme_));
}

}  // namespace foreshard::gui
