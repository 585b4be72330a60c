#include "gui/memory/memory_curve.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "sim/result/text_format.hpp"

namespace foreshard::gui {

namespace {

ByteCount& at(MemoryStack& stack, MemoryCategory category) {
    return stack[static_cast<std::size_t>(category)];
}

MemoryStack statesOf(const RankMemory& memory) {
    MemoryStack stack{};
    at(stack, MemoryCategory::runtime) = memory.runtime;
    at(stack, MemoryCategory::weights) = memory.states.weights;
    at(stack, MemoryCategory::gradients) = memory.states.gradients;
    at(stack, MemoryCategory::optimizer) = memory.states.optimizer;
    return stack;
}

/// The last point at or before a time, or the end when there is none.
std::vector<MemoryPoint>::const_iterator pointAt(const RankMemory& memory, Picoseconds time) {
    const auto after = std::upper_bound(memory.points.begin(), memory.points.end(), time,
                                        [](Picoseconds t, const MemoryPoint& point) { return t < point.time; });
    return after == memory.points.begin() ? memory.points.end() : after - 1;
}

/// Joins the points of a pixel into its highest and its last.
class CurveBuilder {
public:
    void add(double x, const MemoryStack& stack) {
        if (!curve_.empty() && std::floor(x) == std::floor(curve_[highest_].x)) {
            curve_.resize(highest_ + 1);
            if (total(stack) >= total(curve_[highest_].stack)) {
                curve_[highest_].stack = stack;
            } else {
                curve_.push_back({x, stack});
            }
            return;
        }
        highest_ = curve_.size();
        curve_.push_back({x, stack});
    }
    std::vector<CurvePoint> take() { return std::move(curve_); }

private:
    std::vector<CurvePoint> curve_;
    std::size_t highest_ = 0;
};

struct LiveItem {
    std::string text;
    ByteCount bytes = 0;
};

std::vector<LiveItem> liveItems(const Run& run, const RankMemory& memory) {
    std::vector<LiveItem> items;
    for (const LiveSet& set : memory.live) {
        items.push_back(
            {fmt::format("stage {}: {} micro-batch{}", set.stage, set.microbatches, set.microbatches == 1 ? "" : "es"),
             set.bytes});
    }
    if (memory.gathered > 0) items.push_back({"gathered parameters and gradients", memory.gathered});
    for (const NamedBytes& workspace : run.workspaces) items.push_back({workspace.name, workspace.bytes});
    std::stable_sort(items.begin(), items.end(),
                     [](const LiveItem& a, const LiveItem& b) { return a.bytes > b.bytes; });
    return items;
}

}  // namespace

const char* name(MemoryCategory category) {
    switch (category) {
        case MemoryCategory::runtime:
            return "runtime";
        case MemoryCategory::weights:
            return "weights";
        case MemoryCategory::gradients:
            return "gradients";
        case MemoryCategory::optimizer:
            return "optimizer";
        case MemoryCategory::activations:
            return "activations";
        case MemoryCategory::buffers:
            return "buffers";
    }
    return "";
}

ByteCount total(const MemoryStack& stack) {
    return std::accumulate(stack.begin(), stack.end(), ByteCount{0});
}

MemoryStack stackOf(const RankMemory& memory, const MemoryPoint& point) {
    MemoryStack stack = statesOf(memory);
    at(stack, MemoryCategory::activations) = point.activations;
    at(stack, MemoryCategory::buffers) = point.buffers;
    return stack;
}

MemoryStack peakStack(const RankMemory& memory) {
    return stackOf(memory, {memory.peak_time, memory.activations, memory.buffers});
}

MemoryStack stackAt(const RankMemory& memory, Picoseconds time) {
    const auto point = pointAt(memory, time);
    return point == memory.points.end() ? statesOf(memory) : stackOf(memory, *point);
}

std::vector<CurvePoint> memoryCurve(const RankMemory& memory, const TimeAxis& axis) {
    CurveBuilder builder;
    auto point = pointAt(memory, axis.begin);
    if (point == memory.points.end()) point = memory.points.begin();
    for (; point != memory.points.end() && point->time <= axis.end; ++point) {
        builder.add(std::max(0.0, axis.toPixel(point->time)), stackOf(memory, *point));
    }
    return builder.take();
}

ByteCount memoryScale(const std::vector<const Run*>& runs) {
    ByteCount scale = 0;
    for (const Run* run : runs) {
        scale = std::max(scale, run->memory_capacity);
        for (const RankMemory& memory : run->memory) scale = std::max(scale, memory.runtime + memory.peak);
    }
    return scale;
}

int worstRank(const Run& run) {
    const auto need = [](const RankMemory& memory) { return memory.runtime + memory.peak; };
    const auto worst = std::max_element(run.memory.begin(), run.memory.end(),
                                        [&](const auto& a, const auto& b) { return need(a) < need(b); });
    return worst == run.memory.end() ? -1 : static_cast<int>(worst - run.memory.begin());
}

std::vector<std::string> liveAtPeak(const Run& run, int rank) {
    std::vector<std::string> lines;
    for (const LiveItem& item : liveItems(run, run.memory[static_cast<std::size_t>(rank)])) {
        lines.push_back(fmt::format("{}, {}", item.text, gibibytes(item.bytes)));
    }
    return lines;
}

std::string peakListing(const Run& run, int rank) {
    const MemoryStack stack = peakStack(run.memory[static_cast<std::size_t>(rank)]);
    std::string text = fmt::format("{} at the peak", gibibytes(total(stack)));
    for (int c = 0; c < memory_category_count; ++c) {
        text += fmt::format("\n{}: {}", name(static_cast<MemoryCategory>(c)),
                            gibibytes(stack[static_cast<std::size_t>(c)]));
    }
    text += "\nlive then:";
    for (const std::string& item : liveAtPeak(run, rank)) text += "\n  " + item;
    if (!run.runtime.empty()) text += "\nruntime, outside the allocator:";
    for (const NamedBytes& item : run.runtime) text += fmt::format("\n  {}, {}", item.name, gibibytes(item.bytes));
    return text;
}

std::string peakMoment(const Run& run, int rank) {
    const RankMemory& memory = run.memory[static_cast<std::size_t>(rank)];
    if (memory.peak_task < 0) return "at the start of the step";
    for (const SpanRow& row : run.spans.rows) {
        if (row.rank != rank || row.lane != SpanLane::compute) continue;
        for (std::size_t span = row.first; span < row.last; ++span) {
            if (run.spans.task[span] == memory.peak_task) return "while " + span_name(run.spans, span) + " runs";
        }
    }
    return "";
}

}  // namespace foreshard::gui
