#include "gui/timeline/overlays.hpp"

#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "gui/timeline/label_atlas.hpp"
#include "gui/timeline/navigation.hpp"
#include "gui/timeline/rows_painter.hpp"

namespace foreshard::gui {

namespace {

bool isVisible(const TimelineFrame& frame, std::size_t run, std::size_t span) {
    const SpanTable& spans = frame.scene->runs[run].spans();
    const Picoseconds shift = frame.scene->runs[run].shift;
    return spans.end[span] + shift >= frame.axis.begin && spans.start[span] + shift <= frame.axis.end;
}

/// Outline in two tones, so that it stands out on every fill.
void outline(QPainter& painter, const QRectF& box, const QColor& color, const QColor& ground, double width) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(ground, width + 2));
    painter.drawRect(box);
    painter.setPen(QPen(color, width));
    painter.drawRect(box);
}

QRectF clipped(const TimelineFrame& frame, QRectF box) {
    box.setLeft(std::max(box.left(), frame.rows.left() - 4.0));
    box.setRight(std::min(box.right(), frame.rows.right() + 4.0));
    return box;
}

void drawHead(QPainter& painter, QPointF tip, QPointF from) {
    const double angle = std::atan2(tip.y() - from.y(), tip.x() - from.x());
    QPolygonF head({tip});
    for (const double turn : {2.6, -2.6}) head << tip + 7.0 * QPointF(std::cos(angle + turn), std::sin(angle + turn));
    painter.drawPolygon(head);
}

/// From the end of one span to the start of another.
void arrow(QPainter& painter, const TimelineFrame& frame, std::size_t run, std::size_t from, std::size_t to,
           const QColor& color) {
    const auto source = spanRect(frame, run, from);
    const auto target = spanRect(frame, run, to);
    if (!source || !target) return;
    const QPointF begin(source->right(), source->center().y());
    const QPointF end(target->left(), target->center().y());
    const double bow = std::clamp(std::abs(end.x() - begin.x()) / 2, 10.0, 60.0);
    QPainterPath path(begin);
    path.cubicTo(begin + QPointF(bow, 0), end - QPointF(bow, 0), end);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(frame.scene->theme().window, 4));
    painter.drawPath(path);
    painter.setPen(QPen(color, 2));
    painter.drawPath(path);
    painter.setBrush(color);
    drawHead(painter, end, end - QPointF(10, 0));
}

constexpr int most_hops = 8;  ///< from a pass over its messages to another pass are three

/// The span, or when its lane is folded away, the shown one that it waited for.
std::optional<std::size_t> shownSource(const TimelineFrame& frame, std::size_t span) {
    const std::size_t run = frame.selection.run;
    std::optional<std::size_t> source = span;
    for (int hop = 0; hop < most_hops && source && !hasOwnRow(frame, run, *source); ++hop) {
        source = cause_of(frame.scene->runs[run].spans(), *source);
    }
    return source && hasOwnRow(frame, run, *source) ? source : std::nullopt;
}

/// The same forward, to what waits for it.
std::optional<std::size_t> shownTarget(const TimelineFrame& frame, const SpanUsers& users, std::size_t span) {
    const std::size_t run = frame.selection.run;
    for (int hop = 0; hop < most_hops && !hasOwnRow(frame, run, span); ++hop) {
        if (users.first[span] == users.first[span + 1]) return std::nullopt;
        // The last one leaves the rank or enters the compute row; those before it are the next in the same lane.
        span = users.users[users.first[span + 1] - 1];
    }
    return hasOwnRow(frame, run, span) ? std::optional(span) : std::nullopt;
}

void paintSpanSelection(QPainter& painter, const TimelineFrame& frame) {
    const Theme& theme = frame.scene->theme();
    const ShownRun& shown = frame.scene->runs[frame.selection.run];
    const std::size_t span = frame.selection.span;
    for (const std::size_t input : inputs_of(shown.spans(), span)) {
        if (const auto source = shownSource(frame, input)) {
            arrow(painter, frame, frame.selection.run, *source, span, theme.accent);
        }
    }
    if (shown.users) {
        for (std::uint32_t i = shown.users->first[span]; i < shown.users->first[span + 1]; ++i) {
            const auto target = shownTarget(frame, *shown.users, shown.users->users[i]);
            if (target) arrow(painter, frame, frame.selection.run, span, *target, theme.faintText);
        }
    }
    if (const auto box = spanRect(frame, frame.selection.run, span)) {
        outline(painter, clipped(frame, *box), theme.text, theme.window, 2.0);
    }
}

/// The gap, and the way back from what ended it to what was running when it began.
void paintGapSelection(QPainter& painter, const TimelineFrame& frame) {
    const Theme& theme = frame.scene->theme();
    const std::size_t run = frame.selection.run;
    const auto row = rowOfTable(frame, run, frame.selection.row);
    if (!row) return;
    const double left = frame.x(run, frame.selection.begin);
    const double right = frame.x(run, frame.selection.end);
    const QRectF box(left, row->rect.top(), right - left, row->rect.height());
    QColor wash = theme.capacity;
    wash.setAlphaF(0.15F);
    painter.fillRect(clipped(frame, box), wash);
    outline(painter, clipped(frame, box), theme.capacity, theme.window, 2.0);
    const SpanTable& spans = frame.scene->runs[run].spans();
    const auto gap = gap_at(spans, frame.selection.row, frame.selection.begin);
    const std::size_t none = spans.size();
    std::size_t waiting = gap && gap->after ? *gap->after : none;
    for (const std::size_t cause : frame.scene->chain) {
        if (!hasOwnRow(frame, run, cause)) continue;
        if (waiting != none) arrow(painter, frame, run, cause, waiting, theme.capacity);
        if (const auto producer = spanRect(frame, run, cause)) {
            outline(painter, clipped(frame, *producer), theme.capacity, theme.window, 1.0);
        }
        waiting = cause;
    }
}

void paintAreaSelection(QPainter& painter, const TimelineFrame& frame) {
    const Theme& theme = frame.scene->theme();
    const std::size_t run = frame.selection.run;
    const auto first = rowOfTable(frame, run, frame.selection.row);
    const auto last = rowOfTable(frame, run, frame.selection.lastRow);
    if (!first || !last) return;
    const double left = frame.x(run, frame.selection.begin);
    const double right = frame.x(run, frame.selection.end);
    const QRectF box(left, first->rect.top(), right - left, last->rect.bottom() + 1 - first->rect.top());
    QColor wash = theme.accent;
    wash.setAlphaF(0.18F);
    painter.fillRect(clipped(frame, box), wash);
    outline(painter, clipped(frame, box), theme.accent, theme.window, 1.0);
}

void verticalLine(QPainter& painter, const TimelineFrame& frame, Picoseconds time, const QString& text) {
    const double x = std::round(frame.x(time)) + 0.5;
    painter.drawLine(QPointF(x, frame.ruler.bottom()), QPointF(x, frame.rows.bottom()));
    if (!text.isEmpty()) painter.drawText(QPointF(x + 3, frame.rows.bottom() - 4), text);
}

/// Visible spans of the row that is outlined.
SpanRange outlined(const TimelineFrame& frame, const TimelineRow& row) {
    const ShownRun& first = frame.scene->runs[0];
    const SpanRow& its = first.spans().rows[*row.outlineRow];
    return visible_spans(first.spans(), its, frame.axis.begin - first.shift, frame.axis.end - first.shift);
}

}  // namespace

bool outlinesFit(const TimelineFrame& frame, const TimelineRow& row) {
    const SpanRange seen = outlined(frame, row);
    return static_cast<double>(seen.last - seen.first) <= frame.axis.width / 8;
}

void paintPredicted(QPainter& painter, const TimelineFrame& frame, const QRect& block) {
    const ShownRun& first = frame.scene->runs[0];
    painter.save();
    painter.setClipRect(block.adjusted(0, -1, 0, 0));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    for (const ShownRow& shown : visibleRows(frame)) {
        const bool pinned = frame.scene->choice.pinned.contains(shown.row->rank);
        if (!shown.row->outlineRow || (block == frame.pinned) != pinned) continue;
        if (!outlinesFit(frame, *shown.row)) continue;
        const SpanRange seen = outlined(frame, *shown.row);
        for (std::size_t span = seen.first; span < seen.last; ++span) {
            const double left = frame.x(0, first.spans().start[span]);
            const double right = frame.x(0, first.spans().end[span]);
            const QRectF box(left, shown.rect.top(), right - left, shown.rect.height() - 1);
            painter.setPen(QPen(frame.scene->theme().window, 2));
            painter.drawRect(clipped(frame, box));
            painter.setPen(QPen(frame.scene->theme().text, 2, Qt::DashLine));
            painter.drawRect(clipped(frame, box));
        }
    }
    painter.restore();
}

void paintLight(QPainter& painter, const TimelineFrame& frame) {
    const Theme& theme = frame.scene->theme();
    for (std::size_t run = 0; run < frame.scene->shownRuns(); ++run) {
        const ShownRun& shown = frame.scene->runs[run];
        const auto lit = static_cast<std::size_t>(frame.litMicrobatch);
        if (!shown.microbatches || lit + 1 >= shown.microbatches->first.size()) continue;
        for (std::uint32_t i = shown.microbatches->first[lit]; i < shown.microbatches->first[lit + 1]; ++i) {
            const std::size_t span = shown.microbatches->spans[i];
            if (!is_compute(shown.spans().kind[span]) || !isVisible(frame, run, span)) continue;
            if (const auto box = spanRect(frame, run, span)) {
                outline(painter, clipped(frame, box->adjusted(0.5, 0.5, -0.5, -1.5)), theme.text, theme.window, 2.0);
            }
        }
    }
}

void paintCriticalPath(QPainter& painter, const TimelineFrame& frame) {
    const Theme& theme = frame.scene->theme();
    const std::size_t run = frame.scene->comparesTwo() ? 1 : 0;
    const std::vector<std::size_t>& path = frame.scene->runs[run].run->critical_path;
    QColor color = theme.capacity;
    QPolygonF line;
    for (const std::size_t span : path) {
        if (!isVisible(frame, run, span)) continue;
        const auto box = spanRect(frame, run, span);
        if (!box) continue;
        const QRectF shown = clipped(frame, *box);
        const double y = shown.bottom() - std::min(4.0, shown.height() / 2);  // below the label
        line << QPointF(shown.left(), y) << QPointF(shown.right(), y);
        if (shown.width() >= 4) outline(painter, shown.adjusted(0.5, 0.5, -0.5, -1.5), color, theme.window, 1.0);
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.window, 5));
    painter.drawPolyline(line);
    painter.setPen(QPen(color, 2.5));
    painter.drawPolyline(line);
}

void paintSelection(QPainter& painter, const TimelineFrame& frame) {
    if (frame.selection.run >= frame.scene->shownRuns() || !tableRowOf(*frame.scene, frame.selection)) return;
    switch (frame.selection.kind) {
        case Selection::Kind::none:
            return;
        case Selection::Kind::span:
            paintSpanSelection(painter, frame);
            return;
        case Selection::Kind::gap:
            paintGapSelection(painter, frame);
            return;
        case Selection::Kind::area:
            paintAreaSelection(painter, frame);
            return;
    }
}

void paintLines(QPainter& painter, const TimelineFrame& frame) {
    const Theme& theme = frame.scene->theme();
    painter.setFont(pixelFont(0.9));
    painter.setPen(QPen(theme.accent, 1, Qt::DashLine));
    for (std::size_t i = 0; i < frame.scene->marks.size(); ++i) {
        const Picoseconds mark = frame.scene->marks[i];
        const QString since = i == 0 ? QString() : " +" + timeText(mark - frame.scene->marks[i - 1]);
        verticalLine(painter, frame, mark, QString("M%1%2").arg(i + 1).arg(since));
    }
    if (!frame.cursor) return;
    painter.setPen(QPen(theme.faintText, 1));
    verticalLine(painter, frame, *frame.cursor, {});
}

void paintOverlays(QPainter& painter, const TimelineFrame& frame) {
    painter.save();
    painter.setClipRect(frame.pinned.united(frame.rows).adjusted(0, -4, 0, 0));
    painter.setRenderHint(QPainter::Antialiasing);
    if (frame.litMicrobatch >= 0) paintLight(painter, frame);
    if (frame.scene->criticalPath) paintCriticalPath(painter, frame);
    paintSelection(painter, frame);
    painter.setRenderHint(QPainter::Antialiasing, false);
    paintLines(painter, frame);
    painter.restore();
}

}  // namespace foreshard::gui
