#pragma once

#include <QPainter>
#include <vector>

#include "gui/timeline/timeline_frame.hpp"

namespace foreshard::gui {

/// Round steps of 1, 2 or 5 times a power of ten.
/// @param least distance of two ticks at least, picoseconds
Picoseconds tickStep(double least);

/// "12.5 ms" with as many decimals as the step needs; "0" without a unit.
QString tickText(Picoseconds time, Picoseconds step);

/// Times from the begin of the first run's step, and above them the phases of its pipeline: warm-up, steady, cool-down.
void paintRuler(QPainter& painter, const TimelineFrame& frame);

/// Faint lines at the ticks, from the ruler down through the rows.
void paintGrid(QPainter& painter, const TimelineFrame& frame);

}  // namespace foreshard::gui
