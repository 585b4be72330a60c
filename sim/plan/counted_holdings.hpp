#pragma once

#include "sim/plan/buffer_plan.hpp"

/// What the project's own runtime holds from one task to another (runtime/rank_work.cpp, runtime/parameter_store.cpp; a
/// test holds the two equal). For profiles with counts_buffers.
namespace foreshard {

/// Messages between the task that makes or receives them and the one that takes or sends them.
std::vector<Holding> message_holdings(const Job& job, const TaskGraph& graph);

/// FSDP and ZeRO-3: gathered parameters until their last use, and whole gradients from the first pass that adds to
/// them until they are reduced, which is done in place.
std::vector<Holding> counted_shard_holdings(const Job& job, const TaskGraph& graph);

}  // namespace foreshard
