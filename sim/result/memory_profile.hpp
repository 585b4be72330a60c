#pragma once

#include <string_view>
#include <vector>

#include "sim/plan/buffer_plan.hpp"
#include "sim/result/timeline.hpp"

/// Memory of every rank over time.
namespace foreshard {

struct MemoryPoint {
    Picoseconds time = 0;
    ByteCount activations = 0;  ///< saved tensors
    ByteCount buffers = 0;      ///< working sets, workspaces, messages, and what is gathered
};

/// Saved tensors of one stage that are live at the peak.
struct LiveSet {
    int stage = 0;
    int microbatches = 0;
    ByteCount bytes = 0;
};

struct RankMemory {
    StateBytes states;
    ByteCount activations = 0;  ///< at the peak
    ByteCount buffers = 0;      ///< at the peak
    ByteCount gathered = 0;     ///< of those: gathered parameters and gradients on their way
    ByteCount peak = 0;         ///< allocated: states + activations + buffers
    Picoseconds peak_time = 0;
    std::int32_t peak_task = -1;
    std::vector<LiveSet> live;
    ByteCount offloaded = 0;          ///< most that waits on the host, of saved tensors
    ByteCount runtime = 0;            ///< outside the allocator
    ByteCount reserved = 0;           ///< by the allocator: ratio x peak
    ByteCount device = 0;             ///< runtime + reserved, at most the card
    std::vector<MemoryPoint> points;  ///< changes over the window, in time order
};

enum class MemoryVerdict { fits, tight, does_not_fit };
std::string_view to_string(MemoryVerdict verdict);

/// does_not_fit: runtime + allocated exceed the card; tight: runtime + reserved do.
MemoryVerdict memory_verdict(const RankMemory& memory, ByteCount capacity);

/// One profile per rank over the timeline's last step. Live saved tensors return to zero at its end.
std::vector<RankMemory> memory_profiles(const TaskGraph& graph, const BufferPlan& buffers, const Timeline& timeline,
                                        ByteCount capacity);

}  // namespace foreshard
