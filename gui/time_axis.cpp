#include "gui/time_axis.hpp"

#include <algorithm>

namespace foreshard::gui {

namespace {

constexpr Picoseconds shortest_view = 10'000;

/// Moves [begin, begin + length) into [first, last], shortening it where it is longer.
TimeAxis inside(TimeAxis axis, Picoseconds length, Picoseconds first, Picoseconds last) {
    length = std::clamp(length, shortest_view, std::max(last - first, shortest_view));
    axis.begin = std::clamp(axis.begin, first, std::max(last - length, first));
    axis.end = axis.begin + length;
    return axis;
}

}  // namespace

TimeAxis zoomed(const TimeAxis& axis, double factor, double pixel, Picoseconds first, Picoseconds last) {
    const auto old_length = static_cast<double>(axis.end - axis.begin);
    const auto most = static_cast<double>(std::max(last - first, shortest_view));
    const double length = std::clamp(old_length * factor, static_cast<double>(shortest_view), most);
    TimeAxis result = axis;
    result.begin = axis.toTime(pixel) - static_cast<Picoseconds>(pixel / axis.width * length);
    return inside(result, static_cast<Picoseconds>(length), first, last);
}

TimeAxis panned(const TimeAxis& axis, double pixels, Picoseconds first, Picoseconds last) {
    TimeAxis result = axis;
    result.begin = axis.toTime(pixels);
    return inside(result, axis.end - axis.begin, first, last);
}

}  // namespace foreshard::gui
