#pragma once

#include <QPainter>
#include <QString>
#include <vector>

#include "gui/timeline/timeline_frame.hpp"

namespace foreshard::gui {

/// What a colour or line of the picture means.
struct LegendItem {
    SpanKind kind = SpanKind::other;
    QString text;
    QColor fill;
    Qt::BrushStyle pattern = Qt::SolidPattern;
};

/// What the mode adds, then of what the shown runs hold: kinds in the order of SpanKind, and the bubble.
std::vector<LegendItem> timelineLegend(const TimelineScene& scene);

/// One line in `area`; what does not fit at the right is left out.
void paintLegend(QPainter& painter, const TimelineScene& scene, QRect area);

}  // namespace foreshard::gui
