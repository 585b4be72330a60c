#pragma once

#include <QPainter>
#include <QRect>
#include <optional>
#include <vector>

#include "gui/memory/memory_curve.hpp"
#include "gui/theme.hpp"

/// Draws the lanes of the memory view.
namespace foreshard::gui {

/// What is drawn; times are of the first run.
struct MemoryScene {
    std::vector<const Run*> runs;
    ThemeKind theme = ThemeKind::light;
    Picoseconds begin = 0;
    Picoseconds end = 1;
    std::optional<Picoseconds> cursor;
    int chosen = -1;  ///< rank that the head describes; -1: the one with the highest need
    int gutter = 0;   ///< least width of the names, pixels
};

/// Where things are inside an area.
struct MemoryLayout {
    QRect head;
    QRect maximum;  ///< over ranks, above the lanes and never scrolled; empty for a single rank
    QRect ruler;    ///< below the lanes
    QRect lanes;    ///< names and curves; lane r starts at lanes.top() + r * laneHeight, less what is scrolled
    int gutter = 0;
    int laneHeight = 0;
    int laneCount = 0;
    TimeAxis axis;  ///< pixel 0 is lanes.left() + gutter
};

enum class LaneFit {
    readable,  ///< lanes are high enough to read, and may need scrolling
    all,       ///< all lanes are visible, however low
};

MemoryLayout layoutMemory(const QPaintDevice& device, const QRect& area, const MemoryScene& scene, LaneFit fit);

/// @param scrolled pixels that the lanes are moved up
void paintMemory(QPainter& painter, const QRect& area, const MemoryScene& scene, LaneFit fit, int scrolled);

QColor memoryColor(const Theme& theme, MemoryCategory category);

}  // namespace foreshard::gui
