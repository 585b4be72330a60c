#pragma once

#include "sim/units.hpp"

/// The mapping between time and pixels that all views with a time axis share.
namespace foreshard::gui {

/// `width` pixels show [begin, end) picoseconds. Precondition of all functions: end > begin, width > 0.
struct TimeAxis {
    Picoseconds begin = 0;
    Picoseconds end = 1;
    double width = 1.0;

    double pixelsPerPicosecond() const { return width / static_cast<double>(end - begin); }
    double toPixel(Picoseconds time) const { return static_cast<double>(time - begin) * pixelsPerPicosecond(); }
    Picoseconds toTime(double pixel) const {
        return begin + static_cast<Picoseconds>(pixel / width * static_cast<double>(end - begin));
    }
    bool operator==(const TimeAxis&) const = default;
};

/// The axis scaled by `factor` (below 1: closer) about the time under `pixel`, which stays under it; kept inside
/// [first, last] and no closer than ten nanoseconds, so that a column of a large screen is at least a picosecond.
TimeAxis zoomed(const TimeAxis& axis, double factor, double pixel, Picoseconds first, Picoseconds last);

/// The axis moved right by `pixels`, kept inside [first, last].
TimeAxis panned(const TimeAxis& axis, double pixels, Picoseconds first, Picoseconds last);

}  // namespace foreshard::gui
