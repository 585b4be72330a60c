#include "gui/breakdown/breakdown_view.hpp"

#include <QPainter>
#include <QScrollArea>
#include <QSplitter>
#include <QVBoxLayout>

#include "gui/breakdown/breakdown_painter.hpp"
#include "gui/breakdown/breakdown_table.hpp"
#include "gui/charts/chart_widget.hpp"
#include "gui/charts/draw.hpp"
#include "gui/charts/run_text.hpp"
#include "gui/charts/table_view.hpp"

namespace foreshard::gui {

namespace {

std::optional<BreakdownBar> barAt(const BreakdownScene& scene, const QWidget& widget, const QPoint& place) {
    if (scene.runs.empty()) return {};
    for (const BreakdownBar& bar : breakdownBars(widget, widget.rect(), scene)) {
        if (place.y() >= bar.box.top() && place.y() <= bar.box.bottom()) return bar;
    }
    return {};
}

QString tipAt(const BreakdownScene& scene, const QWidget& widget, const QPoint& place) {
    const std::optional<BreakdownBar> bar = barAt(scene, widget, place);
    if (!bar || bar->box.width() <= 0) return {};
    const Run& run = *scene.runs[bar->run];
    const RankAccount& account = run.accounts[bar->rank];
    const std::vector<BreakdownSegment> segments = breakdownSegments(account);
    for (const BreakdownSegment& segment : segments) {
        const auto step = static_cast<double>(segments.back().end);
        const double right = bar->box.left() + bar->box.width() * static_cast<double>(segment.end) / step;
        if (place.x() > right || place.x() < bar->box.left()) continue;
        const Picoseconds time = segment.end - segment.begin;
        return QString("%1: %2 %3, %4 % of the step")
            .arg(rankName(run, bar->rank), accountName(segment.account), durationText(time),
                 QString::number(100.0 * static_cast<double>(time) / step, 'f', 1));
    }
    return {};
}

}  // namespace

BreakdownView::BreakdownView(QWidget* parent) : QWidget(parent) {
    setAccessibleName("Where the step of every rank goes");
    chart_ = new ChartWidget([this](QPainter& painter, const QRect& area) { paint(painter, area); });
    chart_->setAccessibleName("A bar per rank that is as long as the step");
    chart_->setTip([this](const QRect&, const QPoint& place) { return tipAt({runs_, theme_}, *chart_, place); });
    connect(chart_, &ChartWidget::pressed, this, [this](QPoint place) {
        if (const auto bar = barAt({runs_, theme_}, *chart_, place)) emit rankChosen(static_cast<int>(bar->rank));
    });
    auto* scroll = new QScrollArea;
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidget(chart_);

    table_ = new TableView("Time of every rank by account, in milliseconds");
    connect(table_, &TableView::rowActivated, this, [this](int row) {
        if (!runs_.empty() && row < static_cast<int>(runs_.front()->accounts.size())) emit rankChosen(row);
    });

    auto* splitter = new QSplitter(Qt::Vertical);
    splitter->addWidget(scroll);
    splitter->addWidget(table_);
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 2);
    auto* box = new QVBoxLayout(this);
    box->setContentsMargins(0, 0, 0, 0);
    box->addWidget(splitter);
    setTheme(theme_);
}

void BreakdownView::setRuns(std::vector<const Run*> runs) {
    runs_ = std::move(runs);
    table_->setTable(runs_.empty() ? Table{} : breakdownTable(*runs_.front()));
    chart_->setAccessibleDescription(runs_.empty() ? QString() : breakdownSentence(*runs_.front()));
    chart_->setMinimumHeight(breakdownHeight(*this, std::max(300, width()), {runs_, theme_}));
    chart_->update();
}

void BreakdownView::setTheme(ThemeKind kind) {
    theme_ = kind;
    applyTheme(*this, theme(kind));
    table_->setTheme(kind);
    chart_->update();
}

void BreakdownView::paint(QPainter& painter, const QRect& area) const {
    paintBreakdown(painter, area, {runs_, theme_});
}

}  // namespace foreshard::gui
