#include "gui/memory/memory_painter.hpp"

#include <algorithm>

#include "gui/charts/draw.hpp"
#include "gui/charts/run_text.hpp"
#include "gui/memory/memory_head.hpp"
#include "gui/memory/memory_lane.hpp"

namespace foreshard::gui {

namespace {

/// Times since the step began.
void drawRuler(QPainter& painter, const MemoryLayout& layout, const Run& run, const Theme& theme) {
    painter.fillRect(layout.ruler, theme.panel);
    painter.setFont(viewFont(0.9));
    painter.setPen(theme.faintText);
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    const auto begin = static_cast<double>(layout.axis.begin - run.spans.window_begin);
    const auto end = static_cast<double>(layout.axis.end - run.spans.window_begin);
    const double left = layout.lanes.left() + layout.gutter;
    for (const double tick : niceTicks(begin, end, std::max(2, static_cast<int>(layout.axis.width / 110.0)))) {
        const double x = left + layout.axis.toPixel(run.spans.window_begin + static_cast<Picoseconds>(tick));
        const QString text = axisText(tick, end);
        painter.drawLine(QPointF(x, layout.ruler.top()), QPointF(x, layout.ruler.top() + 3));
        const double width = metrics.horizontalAdvance(text);
        const double at = std::clamp(x - width / 2, left, std::max(left, layout.ruler.right() - width));
        painter.drawText(QPointF(at, layout.ruler.top() + metrics.ascent() + 2), text);
    }
}

MemoryLane laneOf(const MemoryScene& scene, int rank, const QRect& box, const MemoryLayout& layout) {
    constexpr double room = 1.08;  // above the highest
    MemoryLane lane;
    lane.run = scene.runs.front();
    lane.rank = static_cast<std::size_t>(rank);
    lane.memory = &lane.run->memory[lane.rank];
    lane.box = box;
    lane.curve = QRectF(box).adjusted(layout.gutter, 1, 0, -1);
    lane.bytesPerPixel = room * static_cast<double>(memoryScale(scene.runs)) / lane.curve.height();
    lane.theme = &theme(scene.theme);
    return lane;
}

}  // namespace

QColor memoryColor(const Theme& theme, MemoryCategory category) {
    switch (category) {
        case MemoryCategory::runtime:
            return theme.fill(SpanKind::host);
        case MemoryCategory::weights:
            return theme.fill(SpanKind::forward);
        case MemoryCategory::gradients:
            return theme.fill(SpanKind::backward);
        case MemoryCategory::optimizer:
            return theme.fill(SpanKind::optimizer);
        case MemoryCategory::activations:
            return theme.fill(SpanKind::tp);
        case MemoryCategory::buffers:
            return theme.fill(SpanKind::recompute);
    }
    return {};
}

MemoryLayout layoutMemory(const QPaintDevice& device, const QRect& area, const MemoryScene& scene, LaneFit fit) {
    const QFontMetrics metrics = metricsOf(device, viewFont());
    MemoryLayout layout;
    layout.gutter = std::max(scene.gutter, metrics.horizontalAdvance("PP00   000"));
    layout.head = area;
    layout.head.setHeight(headHeight(device, area.width(), scene));
    layout.lanes = area.adjusted(0, layout.head.height(), 0, -metrics.lineSpacing());
    layout.ruler = QRect(area.left(), layout.lanes.bottom() + 1, area.width(), metrics.lineSpacing());
    layout.laneCount = static_cast<int>(scene.runs.front()->memory.size());
    const int least = fit == LaneFit::all ? 4 : 4 * metrics.lineSpacing();
    if (layout.laneCount > 1 && layout.lanes.height() > 1) {
        const int alike = std::max(least, layout.lanes.height() / (layout.laneCount + 1));
        layout.maximum = layout.lanes;
        layout.maximum.setHeight(std::min(std::max(alike, 3 * metrics.lineSpacing()), layout.lanes.height() / 2));
        layout.lanes.setTop(layout.maximum.bottom() + 1);
    }
    layout.laneHeight = std::max(least, layout.lanes.height() / std::max(1, layout.laneCount));
    layout.axis = {scene.begin, std::max(scene.end, scene.begin + 1),
                   static_cast<double>(std::max(1, layout.lanes.width() - layout.gutter))};
    return layout;
}

void paintMemory(QPainter& painter, const QRect& area, const MemoryScene& scene, LaneFit fit, int scrolled) {
    const Theme& colors = theme(scene.theme);
    if (scene.runs.empty() || scene.runs.front()->memory.empty()) {
        drawHint(painter, area,
                 scene.runs.empty() ? "Open a plan to see the memory of every rank over time."
                                    : "This run says nothing about memory.",
                 colors);
        return;
    }
    painter.fillRect(area, colors.window);
    const MemoryLayout layout = layoutMemory(*painter.device(), area, scene, fit);
    const int chosen = scene.chosen < 0 ? worstRank(*scene.runs.front()) : scene.chosen;
    const auto draw = [&](MemoryLane lane, const QRect& clip) {
        painter.save();
        painter.setClipRect(clip, Qt::IntersectClip);
        drawLane(painter, lane, scene, layout.axis);
        painter.restore();
    };
    for (int rank = 0; rank < layout.laneCount; ++rank) {
        const QRect box(layout.lanes.left(), layout.lanes.top() + rank * layout.laneHeight - scrolled,
                        layout.lanes.width(), layout.laneHeight);
        if (box.bottom() < layout.lanes.top() || box.top() > layout.lanes.bottom()) continue;
        MemoryLane lane = laneOf(scene, rank, box, layout);
        lane.chosen = rank == chosen;
        draw(lane, layout.lanes);
    }
    if (!layout.maximum.isEmpty()) {
        MemoryLane lane = laneOf(scene, worstRank(*scene.runs.front()), layout.maximum, layout);
        lane.maximum = true;
        draw(lane, layout.maximum);
    }
    drawRuler(painter, layout, *scene.runs.front(), colors);
    paintHead(painter, layout.head, scene, chosen);
}

}  // namespace foreshard::gui
