#pragma once

#include "runtime/element.hpp"
#include "sim/plan/buffer_plan.hpp"

/// How much memory a rank reserves for its tensors.
namespace foreshard::runtime {

/// Most bytes that the plan lets a simulated rank hold at a time, whatever the timing: what is held from one task to
/// another counts wherever the order of tasks does not rule it out.
ByteCount most_held(const TaskGraph& graph, const BufferPlan& plan, int simulated_rank);

/// Of an arena: the rank's most_held in elements of `type`, a quarter more for gaps between blocks, and a block's
/// rounding for some thousand tensors.
ByteCount arena_bytes(const Job& job, const TaskGraph& graph, int simulated_rank, ElementType type);

}  // namespace foreshard::runtime
