#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gui/time_axis.hpp"
#include "sim/result/run.hpp"

/// A rank's memory as stacked layers over time, without drawing.
namespace foreshard::gui {

/// Layers from the bottom: what stays all step long first.
enum class MemoryCategory : std::uint8_t { runtime, weights, gradients, optimizer, activations, buffers };
inline constexpr int memory_category_count = 6;
const char* name(MemoryCategory category);

using MemoryStack = std::array<ByteCount, memory_category_count>;
ByteCount total(const MemoryStack& stack);

/// The highest total of a rank's points is its peak plus what lies outside the allocator.
MemoryStack stackOf(const RankMemory& memory, const MemoryPoint& point);
MemoryStack peakStack(const RankMemory& memory);
/// What is held at a time; before the first point nothing but states and runtime.
MemoryStack stackAt(const RankMemory& memory, Picoseconds time);

struct CurvePoint {
    double x = 0.0;     ///< pixels from the axis' start
    MemoryStack stack;  ///< from here to the next point
};

/// Points that `axis` shows, at most two per pixel: the highest of the pixel, and what the next one starts with. A peak
/// is never lost.
std::vector<CurvePoint> memoryCurve(const RankMemory& memory, const TimeAxis& axis);

/// The largest need of all ranks of all runs, and the capacity: the top of a scale that all lanes share.
ByteCount memoryScale(const std::vector<const Run*>& runs);

/// Index of the rank that comes closest to its limit, or exceeds it most; -1: memory is not known.
int worstRank(const Run& run);

/// What is live at the peak besides the categories' sums, in the order of size: "stage 0: 4 micro-batches, 15.2 GiB".
std::vector<std::string> liveAtPeak(const Run& run, int rank);

/// All of the peak, a line each: the categories, under buffers and runtime what they are made of, and what is live.
std::string peakListing(const Run& run, int rank);

/// "while 2F3 runs", "at the start of the step".
std::string peakMoment(const Run& run, int rank);

}  // namespace foreshard::gui
