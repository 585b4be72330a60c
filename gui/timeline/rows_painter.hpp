#pragma once

#include <QPainter>

#include "gui/timeline/label_atlas.hpp"
#include "gui/timeline/row_image.hpp"
#include "gui/timeline/timeline_frame.hpp"

/// The rows of a frame with their labels and names, without what is selected or lit.
namespace foreshard::gui {

/// @param scale pixels of the image per unit of the painter: the screen's ratio, more for paper
void paintRows(QPainter& painter, const TimelineFrame& frame, DrawingCache& cache, double scale);

/// Names of rows and each rank's share of bubble in what is visible.
void paintGutter(QPainter& painter, const TimelineFrame& frame);

/// Share of the visible time in which a row's rank does nothing, inside the run.
double bubbleShare(const TimelineFrame& frame, const TimelineRow& row);

/// What a span's box says, best first: "F3.1", "F3", "3"; "optimizer", "O".
QStringList spanLabels(const SpanTable& spans, std::size_t span);

/// "12.3 ms"
QString timeText(Picoseconds time);

}  // namespace foreshard::gui
