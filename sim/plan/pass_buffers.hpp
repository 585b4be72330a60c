#pragma once

#include <vector>

#include "sim/plan/buffer_plan.hpp"
#include "sim/plan/op_graph.hpp"

/// Parts of the buffer plan that need no task graph: for bounds that look at many plans.
namespace foreshard {

/// All that the buffers of a pass, or of a part of one, depend on.
struct PassContents {
    ByteCount saved = 0;              ///< of its blocks, from forward to backward
    ByteCount until_weight_grad = 0;  ///< what a split backward keeps of them from I to W
    ByteCount largest_working_set = 0;
    bool embedding = false;
    bool head = false;
};

/// Buffers of a pass over such blocks, as plan_buffers counts them where the profile does not count buffers itself.
PassBuffers pass_buffers(const Job& job, const OpShapes& shapes, const PassContents& contents, Pass pass);

/// What a split backward keeps of one repeat of a block from I to W.
ByteCount kept_until_weight_grad(const Job& job, const OpBlock& block);

/// What every rank holds all the time beside its states: inside the allocator, and outside. None where the profile
/// counts buffers.
std::vector<NamedBytes> library_workspaces(const Job& job);
std::vector<NamedBytes> runtime_parts(const Job& job);

}  // namespace foreshard
