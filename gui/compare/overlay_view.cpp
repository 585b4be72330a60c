#include "gui/compare/overlay_view.hpp"

#include <QPainter>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>

#include "gui/charts/chart_widget.hpp"
#include "gui/charts/draw.hpp"
#include "gui/charts/fill_when_seen.hpp"
#include "gui/charts/table_view.hpp"
#include "gui/compare/overlay_painter.hpp"

namespace foreshard::gui {

namespace {

const char* const hint =
    "Open a measured report or a trace beside the plan that predicts it\nto see how good the prediction is.";

}  // namespace

OverlayView::OverlayView(ViewState& state, QWidget* parent) : QWidget(parent), state_(state) {
    setAccessibleName("Predicted against measured");
    filling_ = new FillWhenSeen(this, [this] { compareNow(); });
    chart_ = new ChartWidget([this](QPainter& painter, const QRect& area) { paint(painter, area); });
    chart_->setAccessibleName("Predicted against measured length of every matched span");
    chart_->setTip([this](const QRect& area, const QPoint& place) {
        const auto point = overlay_ ? overlayPointAt(*chart_, area, *overlay_, place) : std::nullopt;
        return point ? pointText(*overlay_, overlay_->points[*point]) : QString();
    });
    connect(chart_, &ChartWidget::pressed, this, [this](QPoint place) {
        if (!overlay_ || overlay_->fromAccounts) return;
        const auto point = overlayPointAt(*chart_, chart_->rect(), *overlay_, place);
        if (!point) return;
        selectSpan(overlay_->measuredIndex, overlay_->comparison.pairs[overlay_->points[*point].pair].b);
    });
    errors_ = new TableView("Error of the prediction by kind");
    figures_ = new TableView("Figures predicted (A) and measured (B)");
    unmatchedTable_ = new TableView("Spans that only the prediction (A) or only the measurement (B) has");
    connect(unmatchedTable_, &TableView::rowActivated, this, [this](int row) {
        if (!overlay_ || static_cast<std::size_t>(row) >= unmatched_.size()) return;
        const UnmatchedGroup& group = unmatched_[static_cast<std::size_t>(row)];
        selectSpan(group.run == 0 ? overlay_->predictedIndex : overlay_->measuredIndex, group.first);
    });
    auto* tabs = new QTabWidget;
    tabs->addTab(errors_, "&Error by kind");
    tabs->addTab(figures_, "Fi&gures");
    tabs->addTab(unmatchedTable_, "&Unmatched");
    auto* splitter = new QSplitter;
    splitter->addWidget(chart_);
    splitter->addWidget(tabs);
    splitter->setSizes({500, 500});
    auto* box = new QVBoxLayout(this);
    box->setContentsMargins(0, 0, 0, 0);
    box->addWidget(splitter);
    setTheme(theme_);
}

void OverlayView::selectSpan(std::size_t run, std::size_t span) {
    Selection selection;
    selection.kind = Selection::Kind::span;
    selection.run = run;
    selection.span = span;
    state_.select(selection);
}

void OverlayView::setRuns(std::vector<const Run*> runs) {
    runs_ = std::move(runs);
    overlay_.reset();
    unmatched_.clear();
    filling_->request();
}

void OverlayView::compareNow() {
    if (runs_.size() >= 2) {
        overlay_ = overlayOf(runs_);
        unmatched_ = unmatchedGroups(overlay_->comparison, *overlay_->predicted, *overlay_->measured);
    }
    errors_->setTable(overlay_ ? errorTable(*overlay_) : Table{});
    figures_->setTable(overlay_ ? figuresTable(*overlay_->predicted, *overlay_->measured) : Table{});
    unmatchedTable_->setTable(overlay_ ? unmatchedTable(unmatched_, *overlay_->predicted, *overlay_->measured)
                                       : Table{});
    chart_->setAccessibleDescription(overlay_ ? overlaySentence(*overlay_) : QString(hint));
    chart_->update();
}

void OverlayView::setTheme(ThemeKind kind) {
    theme_ = kind;
    applyTheme(*this, theme(kind));
    for (TableView* table : {errors_, figures_, unmatchedTable_}) table->setTheme(kind);
    chart_->update();
}

void OverlayView::paint(QPainter& painter, const QRect& area) const {
    if (overlay_) return paintOverlay(painter, area, *overlay_, theme(theme_));
    if (runs_.size() < 2) return drawHint(painter, area, hint, theme(theme_));
    paintOverlay(painter, area, overlayOf(runs_), theme(theme_));
}

}  // namespace foreshard::gui
