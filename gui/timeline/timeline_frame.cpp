#include "gui/timeline/timeline_frame.hpp"

#include <QFontMetrics>
#include <algorithm>
#include <cmath>

#include "gui/theme.hpp"

namespace foreshard::gui {

namespace {

/// Spans narrower than this many pixels are found from this far away.
constexpr double reach = 2.0;

/// In the table that the row draws.
std::optional<std::size_t> drawnNear(const TimelineFrame& frame, const ShownRow& row, Picoseconds runTime) {
    const SpanTable& spans = frame.scene->shownOf(*row.row).spans();
    const SpanRow& its = spans.rows[row.row->row];
    if (const auto exact = span_at(spans, its, runTime)) return exact;
    const auto margin = static_cast<Picoseconds>(reach / frame.axis.pixelsPerPicosecond());
    const SpanRange near = visible_spans(spans, its, runTime - margin, runTime + margin + 1);
    // Between wide spans the pointer means the gap; only what is too narrow to be hit is reached for.
    for (std::size_t span = near.first; span < near.last; ++span) {
        if (spans.end[span] - spans.start[span] < margin) return span;
    }
    return std::nullopt;
}

std::optional<std::size_t> spanNear(const TimelineFrame& frame, const ShownRow& row, Picoseconds runTime) {
    const auto drawn = drawnNear(frame, row, runTime);
    const bool some = row.row->content == RowContent::only_first;
    return drawn && some ? std::optional(frame.scene->lateness->onlyFirst.spans[*drawn]) : drawn;
}

void findUnder(const TimelineFrame& frame, Hit& hit) {
    const ShownRun& shown = frame.scene->runs[hit.row->row->run];
    const Picoseconds time = hit.time - shown.shift;
    hit.span = spanNear(frame, *hit.row, time);
    if (!hit.span && hit.row->row->content == RowContent::spans)
        hit.gap = gap_at(shown.spans(), hit.row->row->row, time);
}

/// A span of the first run that stands in the second's row instead.
bool hides(const TimelineFrame& frame, const TimelineRow& row, std::size_t span) {
    return row.content == RowContent::only_first && !frame.scene->lateness->onlyFirst.has(span);
}

void addVisible(std::vector<ShownRow>& shown, const TimelineFrame& frame, const std::vector<TimelineRow>& rows,
                const QRect& block, bool pinned) {
    for (const TimelineRow& row : rows) {
        const QRect rect = rowRect(frame, row, pinned);
        if (rect.bottom() >= block.top() && rect.top() <= block.bottom()) shown.push_back({&row, rect});
    }
}

}  // namespace

TimelineMetrics timelineMetrics() {
    const QFontMetrics metrics(viewFont());
    const int text = metrics.height();
    return {metrics.horizontalAdvance("PP127 dp 15 A") + 3 * text, 3 * text + 2, 2 * text + 8, text + 6, text};
}

TimelineFrame makeFrame(const TimelineScene& scene, const RowLayout& layout, const ViewState& state, QRect area,
                        int scroll) {
    TimelineFrame frame;
    frame.scene = &scene;
    frame.layout = &layout;
    frame.metrics = timelineMetrics();
    frame.scroll = scroll;
    const QRect right = area.adjusted(std::min(frame.metrics.gutter, area.width() / 2), 0, 0, 0);
    frame.area = area;
    frame.legend = area;
    frame.legend.setTop(area.bottom() + 1 - std::min(frame.metrics.legend, area.height() / 4));
    int top = right.top();
    const auto take = [&](int height) {
        const QRect part(right.left(), top, right.width(), std::max(0, std::min(height, right.bottom() + 1 - top)));
        top += part.height();
        return part;
    };
    frame.minimap = take(frame.metrics.minimap);
    frame.ruler = take(frame.metrics.ruler);
    frame.pinned = take(std::min(layout.pinnedHeight, right.height() / 2));
    frame.rows = take(right.height());
    frame.rows.setBottom(frame.rows.bottom() - frame.legend.height());
    frame.axis = {state.begin(), std::max(state.end(), state.begin() + 1), std::max(1.0, double(right.width()))};
    frame.cursor = state.cursor();
    frame.selection = state.selection();
    frame.litMicrobatch = state.litMicrobatch();
    return frame;
}

QRect rowRect(const TimelineFrame& frame, const TimelineRow& row, bool pinned) {
    const int top = pinned ? frame.pinned.top() + row.top : frame.rows.top() + row.top - frame.scroll;
    return {frame.rows.left(), top, frame.rows.width(), row.height};
}

std::vector<ShownRow> visibleRows(const TimelineFrame& frame) {
    std::vector<ShownRow> shown;
    addVisible(shown, frame, frame.layout->pinned, frame.pinned, true);
    addVisible(shown, frame, frame.layout->scrolled, frame.rows, false);
    return shown;
}

std::optional<ShownRow> rowAt(const TimelineFrame& frame, int y) {
    for (const ShownRow& shown : visibleRows(frame)) {
        const bool pinned = y < frame.rows.top();
        const bool inBlock = pinned ? y >= frame.pinned.top() : y <= frame.rows.bottom();
        const bool ofBlock = pinned == frame.scene->choice.pinned.contains(shown.row->rank);
        if (inBlock && ofBlock && y >= shown.rect.top() && y <= shown.rect.bottom()) return shown;
    }
    return std::nullopt;
}

std::optional<ShownRow> rowOfTable(const TimelineFrame& frame, std::size_t run, std::size_t tableRow) {
    const int rank = frame.scene->runs[run].spans().rows[tableRow].rank;
    std::optional<ShownRow> substitute;
    for (const std::vector<TimelineRow>* rows : {&frame.layout->pinned, &frame.layout->scrolled}) {
        for (const TimelineRow& row : *rows) {
            if (row.run != run || row.content == RowContent::late_early) continue;
            const ShownRow shown{&row, rowRect(frame, row, rows == &frame.layout->pinned)};
            if (row.row == tableRow) return shown;
            if (!substitute && frame.scene->runs[run].spans().rows[row.row].rank == rank) substitute = shown;
        }
    }
    return substitute;
}

bool hasOwnRow(const TimelineFrame& frame, std::size_t run, std::size_t span) {
    const std::size_t tableRow = row_of(frame.scene->runs[run].spans(), span);
    const auto row = rowOfTable(frame, run, tableRow);
    return row && row->row->row == tableRow && !hides(frame, *row->row, span);
}

std::optional<QRectF> spanRect(const TimelineFrame& frame, std::size_t run, std::size_t span) {
    const SpanTable& spans = frame.scene->runs[run].spans();
    const std::optional<ShownRow> row = rowOfTable(frame, run, row_of(spans, span));
    if (!row || hides(frame, *row->row, span)) return std::nullopt;
    const double left = frame.x(run, spans.start[span]);
    const double right = frame.x(run, spans.end[span]);
    return QRectF(left, row->rect.top(), std::max(1.0, right - left), row->rect.height());
}

Hit hitTest(const TimelineFrame& frame, QPoint point) {
    Hit hit;
    hit.time = frame.axisTime(point.x());
    if (frame.scene->runs.empty()) return hit;
    if (point.y() <= frame.minimap.bottom()) {
        hit.part = point.x() >= frame.minimap.left() ? Hit::Part::minimap : Hit::Part::none;
    } else if (point.y() <= frame.ruler.bottom()) {
        hit.part = point.x() >= frame.ruler.left() ? Hit::Part::ruler : Hit::Part::none;
    } else {
        hit.part = point.x() < frame.rows.left() ? Hit::Part::gutter : Hit::Part::rows;
        hit.row = rowAt(frame, point.y());
        if (hit.row && hit.part == Hit::Part::rows) findUnder(frame, hit);
    }
    return hit;
}

}  // namespace foreshard::gui
