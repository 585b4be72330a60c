#include "gui/timeline/minimap.hpp"

#include <algorithm>
#include <cmath>

#include "gui/timeline/row_image.hpp"

namespace foreshard::gui {

namespace {

constexpr int grip = 5;  ///< pixels around an edge of the window that move it

bool isFirstCompute(const SpanRow& row) {
    return row.lane == SpanLane::compute && row.overflow == 0;
}

/// Every first compute row of one run, so that rows have room, as one line of pixels.
QImage rankLines(const TimelineScene& scene, int width) {
    const std::size_t run = scene.drawnRun();
    const SpanTable& spans = scene.runs[run].spans();
    std::vector<TimelineRow> rows;
    for (std::size_t row = 0; row < spans.rows.size(); ++row) {
        if (!isFirstCompute(spans.rows[row])) continue;
        TimelineRow added;
        added.run = run;
        added.row = row;
        rows.push_back(added);
    }
    QImage lines(width, std::max<int>(1, static_cast<int>(rows.size())), QImage::Format_RGB32);
    lines.fill(scene.theme().bubble);
    RowImage drawing(scene, {scene.first, scene.last, static_cast<double>(width)}, 1000);
    for (std::size_t i = 0; i < rows.size(); ++i) drawing.drawColumns(lines, rows[i], static_cast<int>(i), 1);
    return lines;
}

/// Few lines grow to blocks of equal height with sharp edges; many are averaged.
QImage stretched(const QImage& lines, int height) {
    if (lines.height() >= height)
        return lines.scaled(lines.width(), height, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
    return lines.scaled(lines.width(), height, Qt::IgnoreAspectRatio, Qt::FastTransformation);
}

void paintHeat(QPainter& painter, const TimelineScene& scene, const QRect& area) {
    const std::vector<Picoseconds> edges = column_edges(scene.first, scene.last, area.width());
    const std::vector<double> heat = bubbleHeat(scene, edges);
    painter.fillRect(area, scene.theme().panel);
    for (std::size_t i = 0; i < heat.size(); ++i) {
        const int height = static_cast<int>(std::ceil(heat[i] * area.height()));
        const QRect bar(area.left() + static_cast<int>(i), area.bottom() + 1 - height, 1, height);
        painter.fillRect(bar, scene.theme().capacity);
    }
}

}  // namespace

std::vector<double> bubbleHeat(const TimelineScene& scene, const std::vector<Picoseconds>& edges) {
    const ShownRun& shown = scene.runs[scene.drawnRun()];
    std::vector<Picoseconds> own = edges;
    for (Picoseconds& edge : own) edge = std::clamp(edge - shown.shift, shown.spans().begin, shown.spans().finish);
    std::vector<Picoseconds> idle(edges.size() - 1, 0);
    Picoseconds rows = 0;
    CoverageReader reader(*shown.coverage);
    for (std::size_t row = 0; row < shown.spans().rows.size(); ++row) {
        if (!isFirstCompute(shown.spans().rows[row])) continue;
        ++rows;
        const Columns& columns = reader.read(row, own);
        for (std::size_t i = 0; i < idle.size(); ++i) idle[i] += own[i + 1] - own[i];
        for (std::size_t k = 0; k < columns.time.size(); ++k) idle[k / columns.classes] -= columns.time[k];
    }
    std::vector<double> heat(idle.size(), 0.0);
    for (std::size_t i = 0; i < idle.size(); ++i) {
        const Picoseconds whole = rows * (own[i + 1] - own[i]);
        if (whole > 0) heat[i] = static_cast<double>(idle[i]) / static_cast<double>(whole);
    }
    return heat;
}

QImage minimapImage(const TimelineScene& scene, QSize size) {
    QImage image(size, QImage::Format_RGB32);
    image.fill(scene.theme().panel);
    if (scene.runs.empty() || size.isEmpty()) return image;
    QPainter painter(&image);
    const int heat = size.height() * 2 / 5;
    paintHeat(painter, scene, {0, 0, size.width(), heat});
    const int rest = size.height() - heat - 2;
    if (rest > 0) painter.drawImage(0, heat + 1, stretched(rankLines(scene, size.width()), rest));
    return image;
}

TimeAxis minimapAxis(const TimelineFrame& frame) {
    return {frame.scene->first, frame.scene->last, std::max(1.0, static_cast<double>(frame.minimap.width()))};
}

void paintMinimap(QPainter& painter, const TimelineFrame& frame, const QImage& image) {
    const Theme& theme = frame.scene->theme();
    painter.drawImage(frame.minimap, image);
    const TimeAxis axis = minimapAxis(frame);
    const double left = std::clamp(axis.toPixel(frame.axis.begin), 0.0, axis.width) + frame.minimap.left();
    const double right = std::clamp(axis.toPixel(frame.axis.end), 0.0, axis.width) + frame.minimap.left();
    QColor veil = theme.window;
    veil.setAlphaF(0.65F);
    const QRectF all = frame.minimap;
    painter.fillRect(QRectF(QPointF(all.left(), all.top()), QPointF(left, all.bottom())), veil);
    painter.fillRect(QRectF(QPointF(right, all.top()), QPointF(all.right(), all.bottom())), veil);
    painter.setPen(QPen(theme.text, 1));
    painter.drawRect(QRectF(QPointF(left, all.top()), QPointF(right, all.bottom() - 1)).adjusted(0.5, 0.5, -0.5, -0.5));
}

MinimapGrip minimapGrip(const TimelineFrame& frame, QPoint point) {
    if (!frame.minimap.contains(point)) return MinimapGrip::none;
    const TimeAxis axis = minimapAxis(frame);
    const double left = axis.toPixel(frame.axis.begin) + frame.minimap.left();
    const double right = axis.toPixel(frame.axis.end) + frame.minimap.left();
    // A window narrower than its two grips is moved.
    if (right - left > 3 * grip) {
        if (std::abs(point.x() - left) <= grip) return MinimapGrip::left;
        if (std::abs(point.x() - right) <= grip) return MinimapGrip::right;
    }
    return MinimapGrip::window;
}

}  // namespace foreshard::gui
