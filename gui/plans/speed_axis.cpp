#include "gui/plans/speed_axis.hpp"

#include <algorithm>

#include "gui/charts/draw.hpp"

namespace foreshard::gui {

int speedAxisWidth(const QFontMetrics& metrics) {
    return metrics.horizontalAdvance("000000") + metrics.lineSpacing() + chart_margin;
}

void drawSpeedAxis(QPainter& painter, const QRectF& box, double least, double most, const QString& what,
                   const Theme& theme) {
    painter.setFont(viewFont(0.9));
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    const int line = metrics.lineSpacing();
    for (const double tick : niceTicks(least, most, std::max(2, static_cast<int>(box.height() / 40)))) {
        const double y = box.bottom() - (tick - least) / (most - least) * box.height();
        painter.setPen(theme.grid);
        painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y));
        painter.setPen(theme.faintText);
        painter.drawText(QRectF(box.left() - 84, y - line / 2.0, 80, line), Qt::AlignRight | Qt::AlignVCenter,
                         tick > 0.0 ? figureText(tick) : "0");
    }
    painter.setPen(theme.text);
    painter.save();
    painter.translate(box.left() - speedAxisWidth(metrics) + chart_margin / 2.0, box.bottom());
    painter.rotate(-90);
    painter.drawText(QRectF(0, 0, box.height(), line), Qt::AlignRight, what);
    painter.restore();
}

}  // namespace foreshard::gui
