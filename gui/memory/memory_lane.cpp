#include "gui/memory/memory_lane.hpp"

#include <QPolygonF>
#include <algorithm>
#include <cmath>

#include "gui/charts/draw.hpp"
#include "gui/charts/run_text.hpp"
#include "gui/memory/memory_head.hpp"
#include "gui/memory/memory_maximum.hpp"

namespace foreshard::gui {

namespace {

ByteCount below(const MemoryStack& stack, int layers) {
    ByteCount sum = 0;
    for (int layer = 0; layer < layers; ++layer) sum += stack[static_cast<std::size_t>(layer)];
    return sum;
}

/// The upper edge of the first `layers` layers, in steps.
QPolygonF edge(const MemoryLane& lane, const std::vector<CurvePoint>& curve, int layers, double right) {
    QPolygonF line;
    for (std::size_t i = 0; i < curve.size(); ++i) {
        const double y = lane.y(below(curve[i].stack, layers));
        line << QPointF(lane.curve.left() + curve[i].x, y);
        line << QPointF(i + 1 < curve.size() ? lane.curve.left() + curve[i + 1].x : right, y);
    }
    return line;
}

/// Pixel at which the run's step ends: nothing is known behind it.
double rightEnd(const MemoryLane& lane, const TimeAxis& axis) {
    return std::min(lane.curve.right(), lane.curve.left() + axis.toPixel(lane.run->spans.window_end));
}

void drawLayers(QPainter& painter, const MemoryLane& lane, const std::vector<CurvePoint>& curve, double right) {
    for (int layers = memory_category_count; layers > 0; --layers) {
        QPolygonF shape = edge(lane, curve, layers, right);
        shape << QPointF(right, lane.curve.bottom())
              << QPointF(lane.curve.left() + curve.front().x, lane.curve.bottom());
        painter.setPen(Qt::NoPen);
        painter.setBrush(memoryColor(*lane.theme, static_cast<MemoryCategory>(layers - 1)));
        painter.drawPolygon(shape);
    }
}

/// What exceeds the capacity is hatched, so that it is seen without colour as well.
void drawExcess(QPainter& painter, const MemoryLane& lane, const std::vector<CurvePoint>& curve, double right) {
    const double limit = lane.y(lane.run->memory_capacity);
    QPolygonF shape = edge(lane, curve, memory_category_count, right);
    shape << QPointF(right, lane.curve.bottom()) << QPointF(lane.curve.left() + curve.front().x, lane.curve.bottom());
    painter.save();
    painter.setClipRect(QRectF(lane.curve.left(), lane.curve.top(), lane.curve.width(), limit - lane.curve.top()),
                        Qt::IntersectClip);
    painter.setBrush(lane.theme->capacity);
    painter.drawPolygon(shape);
    QColor lines = labelOn(lane.theme->capacity);
    painter.setBrush(QBrush(lines, Qt::BDiagPattern));
    painter.drawPolygon(shape);
    painter.restore();
}

void drawScale(QPainter& painter, const MemoryLane& lane) {
    constexpr double gib = 1024.0 * 1024.0 * 1024.0;
    painter.setFont(viewFont(0.8));
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    const double top = lane.curve.height() * lane.bytesPerPixel / gib;
    const int most = std::max(1, static_cast<int>(lane.curve.height() / (2.5 * metrics.height())));
    for (const double tick : niceTicks(0.0, top, most)) {
        const double y = lane.y(static_cast<ByteCount>(tick * gib));
        painter.setPen(QPen(lane.theme->grid, 1));
        painter.drawLine(QPointF(lane.curve.left(), y), QPointF(lane.curve.right(), y));
        if (y + metrics.height() / 2.0 > lane.curve.bottom() || y - metrics.height() / 2.0 < lane.curve.top()) continue;
        painter.setPen(lane.fits() ? lane.theme->faintText : labelOn(lane.theme->capacity));
        painter.drawText(QRectF(lane.box.left(), y - metrics.height() / 2.0, lane.curve.left() - lane.box.left() - 4,
                                metrics.height()),
                         Qt::AlignRight | Qt::AlignVCenter, QString::number(tick));
    }
}

/// The name of a rank that does not fit stands on the colour of the capacity line.
void drawName(QPainter& painter, const MemoryLane& lane) {
    const QRect box(lane.box.left(), lane.box.top(), static_cast<int>(lane.curve.left()) - lane.box.left(),
                    lane.box.height() - 1);
    painter.fillRect(box, !lane.fits() ? lane.theme->capacity : lane.chosen ? lane.theme->bubble : lane.theme->panel);
    if (lane.chosen) painter.fillRect(QRect(box.left(), box.top(), 4, box.height()), lane.theme->accent);
    QFont bold = viewFont(std::min(1.0, lane.box.height() / 12.0));
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(lane.fits() ? lane.theme->text : labelOn(lane.theme->capacity));
    const QRect text = box.adjusted(7, 1, -2, 0);
    painter.drawText(text, Qt::AlignLeft | Qt::AlignTop, lane.maximum ? "max" : rankName(*lane.run, lane.rank));
    const int line = metricsOf(painter, bold).lineSpacing();
    if (!lane.fits() && lane.box.height() >= 2 * line) {
        painter.drawText(text.translated(0, line), Qt::AlignLeft | Qt::AlignTop, "OOM");
    }
}

void drawCapacity(QPainter& painter, const MemoryLane& lane) {
    if (lane.run->memory_capacity == 0) return;
    const double y = lane.y(lane.run->memory_capacity);
    painter.setPen(QPen(lane.theme->capacity, 2));
    painter.drawLine(QPointF(lane.curve.left(), y), QPointF(lane.curve.right(), y));
}

QString peakLabel(const MemoryLane& lane) {
    const ByteCount need = lane.memory->runtime + lane.memory->peak;
    QString text = memoryText(need);
    if (!lane.fits()) text += ", " + memoryText(need - lane.run->memory_capacity) + " too much";
    if (lane.maximum) text = rankName(*lane.run, lane.rank) + ": " + text;
    return text;
}

/// A triangle on the peak and its height in words beside it.
void drawPeak(QPainter& painter, const MemoryLane& lane, const TimeAxis& axis) {
    const double x = lane.curve.left() + axis.toPixel(lane.memory->peak_time);
    if (x < lane.curve.left() - 1 || x > lane.curve.right() + 1) return;
    painter.setFont(viewFont(0.9));
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    if (lane.box.height() < metrics.height() + 4) return;
    const double size = metrics.height() * 0.35;
    const double y = std::max(lane.curve.top() + size, lane.y(lane.memory->runtime + lane.memory->peak));
    const QColor ink = lane.fits() ? lane.theme->text : lane.theme->capacity;
    painter.setPen(QPen(lane.theme->window, 1));
    painter.setBrush(ink);
    painter.drawPolygon(QPolygonF({{x, y}, {x - size, y - 1.6 * size}, {x + size, y - 1.6 * size}}));
    const QString text = peakLabel(lane);
    const double width = metrics.horizontalAdvance(text) + 6.0;
    const bool left = x + 1.5 * size + width > lane.curve.right();
    const double top = std::clamp(y - metrics.height(), lane.curve.top(), lane.curve.bottom() - metrics.height());
    const QRectF box(left ? x - 1.5 * size - width : x + 1.5 * size, top, width, metrics.height());
    QColor ground = lane.theme->window;
    ground.setAlphaF(0.85F);
    painter.fillRect(box, ground);
    painter.setPen(ink);
    painter.drawText(box, Qt::AlignCenter, text);
}

void drawOtherRun(QPainter& painter, const MemoryLane& lane, const Run& other, const TimeAxis& axis,
                  std::size_t index) {
    if (lane.rank >= other.memory.size()) return;
    const Picoseconds shift = lane.run->spans.window_begin - other.spans.window_begin;
    const TimeAxis shifted{axis.begin - shift, axis.end - shift, axis.width};
    const std::vector<CurvePoint> curve =
        lane.maximum ? maximumCurve(other, shifted).points : memoryCurve(other.memory[lane.rank], shifted);
    if (curve.empty()) return;
    const double right = std::min(lane.curve.right(), lane.curve.left() + shifted.toPixel(other.spans.window_end));
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(lane.theme->window, 4));
    const QPolygonF line = edge(lane, curve, memory_category_count, right);
    painter.drawPolyline(line);
    painter.setPen(otherRunPen(*lane.theme, other, index));
    painter.drawPolyline(line);
}

QString cursorText(const MemoryLane& lane, Picoseconds time) {
    if (!lane.maximum) return memoryText(total(stackAt(*lane.memory, time)));
    const LargestRank largest = largestAt(*lane.run, time);
    return QString("%1 (%2)").arg(memoryText(total(largest.stack)),
                                  rankName(*lane.run, static_cast<std::size_t>(largest.rank)));
}

/// Whose the maximum is: names where there is room, a line wherever it changes.
void drawOwners(QPainter& painter, const MemoryLane& lane, const MaximumCurve& curve, double right) {
    painter.setFont(viewFont(0.8));
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    if (lane.box.height() < 3 * metrics.height()) return;
    const double bottom = lane.curve.bottom();
    for (std::size_t i = 0; i < curve.rank.size();) {
        std::size_t next = i + 1;
        while (next < curve.rank.size() && curve.rank[next] == curve.rank[i]) ++next;
        const double begin = lane.curve.left() + curve.points[i].x;
        const double end = next < curve.rank.size() ? lane.curve.left() + curve.points[next].x : right;
        const QString text = rankName(*lane.run, static_cast<std::size_t>(curve.rank[i]));
        const double width = metrics.horizontalAdvance(text) + 6.0;
        i = next;
        if (end - begin < width) continue;
        painter.setPen(QPen(lane.theme->window, 1));
        for (const double x : {begin, end}) painter.drawLine(QPointF(x, bottom - metrics.height()), QPointF(x, bottom));
        const QRectF box((begin + end - width) / 2, bottom - metrics.height() - 1, width, metrics.height());
        painter.fillRect(box, lane.theme->window);
        painter.setPen(lane.theme->text);
        painter.drawText(box, Qt::AlignCenter, text);
    }
}

void drawCursor(QPainter& painter, const MemoryLane& lane, const MemoryScene& scene, const TimeAxis& axis) {
    if (!scene.cursor || *scene.cursor < axis.begin || *scene.cursor > axis.end) return;
    const double x = lane.curve.left() + axis.toPixel(*scene.cursor);
    painter.setPen(QPen(lane.theme->text, 1, Qt::DotLine));
    painter.drawLine(QPointF(x, lane.box.top()), QPointF(x, lane.box.bottom()));
    painter.setFont(viewFont(0.9));
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    if (lane.box.height() < 2 * metrics.height()) return;
    const QString text = cursorText(lane, *scene.cursor);
    const double width = metrics.horizontalAdvance(text) + 6.0;
    const bool left = x + 3 + width > lane.curve.right();
    const QRectF box(left ? x - 3 - width : x + 3, lane.curve.bottom() - metrics.height() - 1, width, metrics.height());
    painter.fillRect(box, lane.theme->text);
    painter.setPen(lane.theme->window);
    painter.drawText(box, Qt::AlignCenter, text);
}

}  // namespace

bool MemoryLane::fits() const {
    return run->memory_capacity == 0 || memory_verdict(*memory, run->memory_capacity) != MemoryVerdict::does_not_fit;
}

void drawLane(QPainter& painter, const MemoryLane& lane, const MemoryScene& scene, const TimeAxis& axis) {
    painter.save();
    painter.setClipRect(lane.box, Qt::IntersectClip);
    painter.fillRect(lane.box, lane.theme->window);
    drawName(painter, lane);
    drawScale(painter, lane);
    painter.setClipRect(QRectF(lane.curve.left(), lane.box.top(), lane.curve.width(), lane.box.height()),
                        Qt::IntersectClip);
    const MaximumCurve maximum = lane.maximum ? maximumCurve(*lane.run, axis) : MaximumCurve();
    const std::vector<CurvePoint> curve = lane.maximum ? maximum.points : memoryCurve(*lane.memory, axis);
    const double right = rightEnd(lane, axis);
    if (!curve.empty() && right > lane.curve.left() + curve.front().x) {
        drawLayers(painter, lane, curve, right);
        if (!lane.fits()) drawExcess(painter, lane, curve, right);
    }
    drawCapacity(painter, lane);
    if (lane.maximum) drawOwners(painter, lane, maximum, right);
    for (std::size_t i = 1; i < scene.runs.size(); ++i) drawOtherRun(painter, lane, *scene.runs[i], axis, i);
    drawPeak(painter, lane, axis);
    drawCursor(painter, lane, scene, axis);
    painter.setPen(lane.theme->grid);
    painter.drawLine(lane.box.bottomLeft(), lane.box.bottomRight());
    painter.restore();
}

}  // namespace foreshard::gui
