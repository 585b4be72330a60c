#include "gui/charts/chart_widget.hpp"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

namespace foreshard::gui {

ChartWidget::ChartWidget(Paint paint, QWidget* parent) : QWidget(parent), paint_(std::move(paint)) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setMinimumSize(fontMetrics().averageCharWidth() * 24, fontMetrics().height() * 6);
}

bool ChartWidget::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip || !tip_) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString text = tip_(rect(), help->pos());
    if (text.isEmpty()) {
        QToolTip::hideText();
    } else {
        QToolTip::showText(help->globalPos(), text, this);
    }
    return true;
}

void ChartWidget::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    paint_(painter, rect());
}

void ChartWidget::mousePressEvent(QMouseEvent* event) {
    setFocus(Qt::MouseFocusReason);
    if (event->button() == Qt::LeftButton) emit pressed(event->position().toPoint());
}

void ChartWidget::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) emit activated(event->position().toPoint());
}

}  // namespace foreshard::gui
