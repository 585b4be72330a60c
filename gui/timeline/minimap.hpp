#pragma once

#include <QImage>
#include <QPainter>

#include "gui/timeline/timeline_frame.hpp"

/// The whole run in a strip: where bubbles are, and which part of it the rows show.
namespace foreshard::gui {

/// Above, a bar per column as high as the share of ranks that idle there; below, every rank as a line.
QImage minimapImage(const TimelineScene& scene, QSize size);

/// The image and, over it, the window of what is visible.
void paintMinimap(QPainter& painter, const TimelineFrame& frame, const QImage& image);

/// The axis of the minimap: the whole run.
TimeAxis minimapAxis(const TimelineFrame& frame);

/// Which part of the minimap's window a point takes hold of.
enum class MinimapGrip { none, left, right, window };
MinimapGrip minimapGrip(const TimelineFrame& frame, QPoint point);

/// Share of the first compute rows of the shown runs in which nothing runs, per column of `edges` on the axis.
std::vector<double> bubbleHeat(const TimelineScene& scene, const std::vector<Picoseconds>& edges);

}  // namespace foreshard::gui
