#include "gui/memory/memory_maximum.hpp"

#include <algorithm>
#include <cmath>

namespace foreshard::gui {

namespace {

/// What the largest rank holds in a pixel; rank -1: nothing is known of it.
struct PixelMaximum {
    int rank = -1;
    ByteCount bytes = 0;
    MemoryStack stack{};
};

void raise(PixelMaximum& pixel, int rank, const MemoryStack& stack) {
    const ByteCount bytes = total(stack);
    if (pixel.rank < 0 || bytes > pixel.bytes) pixel = {rank, bytes, stack};
}

/// A rank's curve holds from each point to the next: what a pixel begins with counts in it as well.
void raiseAll(std::vector<PixelMaximum>& pixels, int rank, const std::vector<CurvePoint>& curve) {
    for (std::size_t i = 0; i < curve.size(); ++i) {
        const auto first = static_cast<std::size_t>(std::max(0.0, std::floor(curve[i].x)));
        const double end = i + 1 < curve.size() ? curve[i + 1].x : static_cast<double>(pixels.size());
        // A change at the left edge of a pixel leaves nothing of what was before in it.
        const auto last = static_cast<std::size_t>(std::max(std::ceil(end), static_cast<double>(first) + 1.0));
        for (std::size_t x = first; x < std::min(last, pixels.size()); ++x) raise(pixels[x], rank, curve[i].stack);
    }
}

}  // namespace

MaximumCurve maximumCurve(const Run& run, const TimeAxis& axis) {
    std::vector<PixelMaximum> pixels(static_cast<std::size_t>(std::max(1.0, std::ceil(axis.width))));
    for (std::size_t rank = 0; rank < run.memory.size(); ++rank) {
        raiseAll(pixels, static_cast<int>(rank), memoryCurve(run.memory[rank], axis));
    }
    MaximumCurve curve;
    for (std::size_t x = 0; x < pixels.size(); ++x) {
        const PixelMaximum& pixel = pixels[x];
        const bool same =
            !curve.points.empty() && curve.rank.back() == pixel.rank && curve.points.back().stack == pixel.stack;
        if (pixel.rank < 0 || same) continue;
        curve.points.push_back({static_cast<double>(x), pixel.stack});
        curve.rank.push_back(pixel.rank);
    }
    return curve;
}

LargestRank largestAt(const Run& run, Picoseconds time) {
    LargestRank largest{0, stackAt(run.memory.front(), time)};
    for (std::size_t rank = 1; rank < run.memory.size(); ++rank) {
        const MemoryStack stack = stackAt(run.memory[rank], time);
        if (total(stack) > total(largest.stack)) largest = {static_cast<int>(rank), stack};
    }
    return largest;
}

}  // namespace foreshard::gui
