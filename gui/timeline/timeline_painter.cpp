#include "gui/timeline/timeline_painter.hpp"

#include <QRegion>

#include "gui/timeline/legend.hpp"
#include "gui/timeline/overlays.hpp"
#include "gui/timeline/rows_painter.hpp"
#include "gui/timeline/ruler.hpp"

namespace foreshard::gui {

namespace {

void paintTitles(QPainter& painter, const TimelineFrame& frame) {
    const Theme& theme = frame.scene->theme();
    const int gutter = frame.rows.left() - frame.area.left();
    painter.setFont(pixelFont(0.9));
    painter.setPen(theme.faintText);
    const int heat = frame.minimap.height() * 2 / 5;
    const QRect minimap(frame.area.left() + 4, frame.minimap.top(), gutter - 10, heat);
    painter.drawText(minimap, Qt::AlignVCenter | Qt::AlignLeft, "idle ranks");
    painter.drawText(minimap.translated(0, heat + 2), Qt::AlignVCenter | Qt::AlignLeft, "whole run");
    const QRect ruler(frame.area.left() + 4, frame.ruler.bottom() - frame.metrics.text - 3, gutter - 10,
                      frame.metrics.text);
    painter.drawText(ruler, Qt::AlignVCenter | Qt::AlignLeft, "rank");
    painter.drawText(ruler, Qt::AlignVCenter | Qt::AlignRight, "bubble in view");
}

}  // namespace

void paintTimelineGround(QPainter& painter, const TimelineFrame& frame, const QImage& minimap, DrawingCache& cache,
                         double scale) {
    painter.save();
    const QRegion around = QRegion(frame.area).subtracted(frame.rows).subtracted(frame.pinned);
    for (const QRect& rect : around) painter.fillRect(rect, frame.scene->theme().window);
    paintRows(painter, frame, cache, scale);
    paintGrid(painter, frame);
    paintRuler(painter, frame);
    paintMinimap(painter, frame, minimap);
    paintTitles(painter, frame);
    paintGutter(painter, frame);
    paintLegend(painter, *frame.scene, frame.legend.adjusted(4, 0, 0, 0));
    painter.restore();
}

void paintTimeline(QPainter& painter, const TimelineFrame& frame, const QImage& minimap, DrawingCache& cache,
                   double scale) {
    paintTimelineGround(painter, frame, minimap, cache, scale);
    paintOverlays(painter, frame);
}

void paintEmptyTimeline(QPainter& painter, const Theme& theme, QRect area) {
    painter.save();
    painter.fillRect(area, theme.window);
    painter.setPen(theme.faintText);
    painter.setFont(pixelFont(1.2));
    painter.drawText(area, Qt::AlignCenter | Qt::TextWordWrap,
                     "No run is open.\nOpen a job, report or trace, or drop a file here.");
    painter.restore();
}

int heightAroundRows(const TimelineMetrics& metrics) {
    return metrics.minimap + metrics.ruler + metrics.legend;
}

}  // namespace foreshard::gui
