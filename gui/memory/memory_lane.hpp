#pragma once

#include <QPainter>
#include <QRectF>

#include "gui/memory/memory_painter.hpp"

/// One lane of the memory view.
namespace foreshard::gui {

/// One lane with all that its parts need.
struct MemoryLane {
    const Run* run = nullptr;
    const RankMemory* memory = nullptr;
    std::size_t rank = 0;
    QRect box;     ///< with the name
    QRectF curve;  ///< without
    double bytesPerPixel = 1.0;
    const Theme* theme = nullptr;
    bool chosen = false;
    bool maximum = false;  ///< over ranks; `memory` and `rank` are of the one with the highest peak

    double y(ByteCount bytes) const { return curve.bottom() - static_cast<double>(bytes) / bytesPerPixel; }
    bool fits() const;
};

/// Name, scale, layers, capacity line, further runs, peak and cursor. The maximum over ranks also says whose it is.
void drawLane(QPainter& painter, const MemoryLane& lane, const MemoryScene& scene, const TimeAxis& axis);

}  // namespace foreshard::gui
