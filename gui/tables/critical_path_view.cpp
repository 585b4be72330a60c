#include "gui/tables/critical_path_view.hpp"

#include <QPainter>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/charts/chart_widget.hpp"
#include "gui/charts/draw.hpp"
#include "gui/charts/fill_when_seen.hpp"
#include "gui/charts/run_text.hpp"
#include "gui/charts/table_view.hpp"
#include "gui/time_axis.hpp"
#include "sim/result/span_query.hpp"

namespace foreshard::gui {

namespace {

constexpr int margin = 6;

struct PathLayout {
    QRectF box;  ///< rows of ranks
    double rowHeight = 1.0;
    TimeAxis axis;

    double x(Picoseconds time) const { return box.left() + axis.toPixel(time); }
    double y(int rank) const { return box.top() + rank * rowHeight; }
};

std::vector<LegendEntry> legendOf(const Run& run, const Theme& theme) {
    const PathTotals totals = pathTotals(run);
    std::vector<LegendEntry> entries;
    for (std::size_t k = 0; k < totals.time.size(); ++k) {
        if (totals.time[k] == 0) continue;
        const auto kind = static_cast<SpanKind>(k);
        const std::string_view name = to_string(kind);
        entries.push_back(
            {theme.fill(kind),
             QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())) + " " + durationText(totals.time[k]),
             Theme::pattern(kind)});
    }
    if (totals.between > 0) entries.push_back({theme.bubble, "between spans " + durationText(totals.between)});
    return entries;
}

void drawRanks(QPainter& painter, const QRect& area, const Run& run, const PathLayout& layout, const Theme& theme) {
    painter.setFont(viewFont(0.9));
    const int line = metricsOf(painter, painter.font()).height();
    const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(line / layout.rowHeight)));
    for (std::size_t rank = 0; rank < run.spans.ranks.size(); ++rank) {
        const double y = layout.y(static_cast<int>(rank));
        painter.setPen(theme.grid);
        painter.drawLine(QPointF(layout.box.left(), y), QPointF(layout.box.right(), y));
        if (rank % every != 0) continue;
        painter.setPen(theme.text);
        painter.drawText(
            QRectF(area.left(), y, layout.box.left() - area.left() - margin, std::max<double>(layout.rowHeight, line)),
            Qt::AlignRight | Qt::AlignVCenter, rankName(run, rank));
    }
}

/// Spans, and lines between those of different ranks.
void drawPath(QPainter& painter, const Run& run, const PathLayout& layout, const Theme& theme) {
    const SpanTable& spans = run.spans;
    QPointF last;
    for (std::size_t i = 0; i < run.critical_path.size(); ++i) {
        const std::size_t span = run.critical_path[i];
        const double y = layout.y(spans.rows[row_of(spans, span)].rank);
        const double left = layout.x(spans.start[span]);
        const double right = std::max(left + 1.0, layout.x(spans.end[span]));
        const QPointF from(left, y + layout.rowHeight / 2);
        if (i > 0) {
            painter.setPen(QPen(theme.faintText, 1));
            painter.drawLine(last, from);
        }
        fillPatterned(painter, QRectF(left, y + 0.15 * layout.rowHeight, right - left, 0.7 * layout.rowHeight),
                      theme.fill(spans.kind[span]), Theme::pattern(spans.kind[span]));
        last = QPointF(right, from.y());
    }
}

void drawTimes(QPainter& painter, const PathLayout& layout, Picoseconds begin, const Theme& theme) {
    painter.setFont(viewFont(0.9));
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    const auto length = static_cast<double>(layout.axis.end - layout.axis.begin);
    for (const double tick : niceTicks(0.0, length, std::max(2, static_cast<int>(layout.box.width() / 110.0)))) {
        const double x = layout.x(begin + static_cast<Picoseconds>(tick));
        painter.setPen(theme.grid);
        painter.drawLine(QPointF(x, layout.box.top()), QPointF(x, layout.box.bottom() + 3));
        painter.setPen(theme.faintText);
        const QString text = axisText(tick, length);
        painter.drawText(QPointF(x - metrics.horizontalAdvance(text) / 2.0, layout.box.bottom() + 4 + metrics.ascent()),
                         text);
    }
}

}  // namespace

void paintCriticalPath(QPainter& painter, const QRect& area, const Run& run, const Theme& theme) {
    if (run.critical_path.empty()) return drawHint(painter, area, "The critical path of this run is not known.", theme);
    painter.fillRect(area, theme.window);
    QFont bold = viewFont(1.1);
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(theme.text);
    QRect rest = area.adjusted(margin, margin, -3 * margin, -margin);
    drawElided(painter, QRect(rest.left(), rest.top(), rest.width(), metricsOf(painter, bold).lineSpacing()),
               Qt::AlignLeft | Qt::AlignVCenter, pathSentence(run));
    rest.setTop(rest.top() + metricsOf(painter, bold).lineSpacing() + margin);
    rest.setTop(rest.top() + drawLegend(painter, rest, legendOf(run, theme), theme) + margin);
    const QFontMetrics metrics = metricsOf(painter, viewFont());
    PathLayout layout;
    layout.box = QRectF(rest).adjusted(metrics.horizontalAdvance("PP000 "), 0, 0, -metrics.lineSpacing());
    layout.rowHeight =
        std::min(layout.box.height() / static_cast<double>(std::max<std::size_t>(1, run.spans.ranks.size())),
                 2.0 * metrics.lineSpacing());
    layout.box.setHeight(layout.rowHeight * static_cast<double>(run.spans.ranks.size()));
    const Picoseconds begin = run.spans.start[run.critical_path.front()];
    layout.axis = {begin, std::max(begin + 1, run.spans.end[run.critical_path.back()]),
                   std::max(1.0, layout.box.width())};
    drawTimes(painter, layout, begin, theme);
    drawRanks(painter, rest, run, layout, theme);
    drawPath(painter, run, layout, theme);
}

CriticalPathView::CriticalPathView(ViewState& state, QWidget* parent) : QWidget(parent), state_(state) {
    setAccessibleName("Critical path");
    filling_ = new FillWhenSeen(this, [this] { fill(); });
    chart_ = new ChartWidget([this](QPainter& painter, const QRect& area) { paint(painter, area); });
    chart_->setAccessibleName("Spans of the critical path over ranks and time");
    table_ = new TableView("Parts of the critical path, first to last");
    connect(table_, &TableView::rowChosen, this, &CriticalPathView::selectPart);
    connect(table_, &TableView::rowActivated, this, &CriticalPathView::selectPart);
    auto* splitter = new QSplitter;
    splitter->addWidget(chart_);
    splitter->addWidget(table_);
    splitter->setSizes({500, 500});
    auto* box = new QVBoxLayout(this);
    box->setContentsMargins(0, 0, 0, 0);
    box->addWidget(splitter);
    setTheme(theme_);
}

void CriticalPathView::selectPart(int row) {
    if (row < 0 || static_cast<std::size_t>(row) >= parts_.size()) return;
    Selection selection;
    selection.kind = Selection::Kind::span;
    selection.span = parts_[static_cast<std::size_t>(row)].firstSpan;
    state_.select(selection);
}

void CriticalPathView::setRuns(std::vector<const Run*> runs) {
    runs_ = std::move(runs);
    filling_->request();
}

void CriticalPathView::fill() {
    parts_ = runs_.empty() ? std::vector<PathPart>{} : pathParts(*runs_.front());
    table_->setTable(runs_.empty() ? Table{} : pathTable(*runs_.front()));
    chart_->setAccessibleDescription(runs_.empty() ? QString() : pathSentence(*runs_.front()));
    chart_->update();
}

void CriticalPathView::setTheme(ThemeKind kind) {
    theme_ = kind;
    applyTheme(*this, theme(kind));
    table_->setTheme(kind);
    chart_->update();
}

void CriticalPathView::paint(QPainter& painter, const QRect& area) const {
    if (runs_.empty()) return drawHint(painter, area, "Open a plan to see what sets its step time.", theme(theme_));
    paintCriticalPath(painter, area, *runs_.front(), theme(theme_));
}

}  // namespace foreshard::gui
