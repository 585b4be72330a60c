#pragma once

#include <vector>

#include "gui/memory/memory_curve.hpp"

/// The memory of whichever rank holds most.
namespace foreshard::gui {

/// Points at least a pixel apart: of each pixel the largest that any rank holds in it.
struct MaximumCurve {
    std::vector<CurvePoint> points;
    std::vector<int> rank;  ///< per point: index of the rank that it is of; of equal ones the lowest
};
MaximumCurve maximumCurve(const Run& run, const TimeAxis& axis);

/// The rank that holds most at a time, with what it holds. Precondition: the run's memory is known.
struct LargestRank {
    int rank = 0;
    MemoryStack stack{};
};
LargestRank largestAt(const Run& run, Picoseconds time);

}  // namespace foreshard::gui
