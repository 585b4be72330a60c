#pragma once

#include <QPainter>

#include "gui/timeline/label_atlas.hpp"
#include "gui/timeline/minimap.hpp"
#include "gui/timeline/timeline_frame.hpp"

namespace foreshard::gui {

/// A whole frame: minimap, ruler, rows, what lies over them, legend.
/// @param minimap of minimapImage, as wide as the frame's
/// @param scale pixels of the image per unit of the painter
void paintTimeline(QPainter& painter, const TimelineFrame& frame, const QImage& minimap, DrawingCache& cache,
                   double scale);

/// The same without what lies over the rows: what changes with the visible time only.
void paintTimelineGround(QPainter& painter, const TimelineFrame& frame, const QImage& minimap, DrawingCache& cache,
                         double scale);

/// What is drawn when no run is open.
void paintEmptyTimeline(QPainter& painter, const Theme& theme, QRect area);

/// Pixels that everything but the rows takes from the height.
int heightAroundRows(const TimelineMetrics& metrics);

}  // namespace foreshard::gui
