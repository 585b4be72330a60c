#pragma once

#include <QPainter>
#include <QRect>
#include <optional>

#include "gui/compare/overlay.hpp"
#include "gui/theme.hpp"

namespace foreshard::gui {

/// Predicted (right) against measured (up) on logarithmic axes of equal scale, with the line where both are equal and a
/// band of 10 % about it; the answer in a sentence above, the match rate below.
void paintOverlay(QPainter& painter, const QRect& area, const Overlay& overlay, const Theme& theme);

/// Index of the point nearest to a place, within a few pixels.
std::optional<std::size_t> overlayPointAt(const QPaintDevice& device, const QRect& area, const Overlay& overlay,
                                          const QPoint& place);

}  // namespace foreshard::gui
