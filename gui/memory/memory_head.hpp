#pragma once

#include <QPainter>
#include <QPen>
#include <QRect>

#include "gui/memory/memory_painter.hpp"

/// The lines above the lanes: who needs most, of what it consists, what is live then.
namespace foreshard::gui {

int headHeight(const QPaintDevice& device, int width, const MemoryScene& scene);

/// @param chosen index of the rank that is described
void paintHead(QPainter& painter, const QRect& area, const MemoryScene& scene, int chosen);

/// One line for a rank: "PP0 peaks at 61.3 GiB of 79.2 GiB (77 %), 812 ms into the step, while 2F3 runs".
QString peakSentence(const Run& run, int rank);

/// How the total of a further run is drawn: measured ones dashed.
QPen otherRunPen(const Theme& theme, const Run& run, std::size_t index);

}  // namespace foreshard::gui
