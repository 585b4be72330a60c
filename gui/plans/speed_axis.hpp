#pragma once

#include <QFontMetrics>
#include <QPainter>
#include <QRectF>
#include <QString>

#include "gui/theme.hpp"

/// The upward axis that charts of plans share.
namespace foreshard::gui {

/// Pixels that it takes left of a chart's box. @param metrics of viewFont(0.9)
int speedAxisWidth(const QFontMetrics& metrics);

/// Lines at round throughputs between the box's bottom and top, their figures beside them, and what they are, upwards.
/// In viewFont(0.9), which it leaves set.
void drawSpeedAxis(QPainter& painter, const QRectF& box, double least, double most, const QString& what,
                   const Theme& theme);

}  // namespace foreshard::gui
