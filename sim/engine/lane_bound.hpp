#pragma once

#include <vector>

#include "sim/cost/cost_model.hpp"
#include "sim/cost/network_model.hpp"
#include "sim/engine/pipeline_bound.hpp"
#include "sim/plan/schedule.hpp"

/// Lower bound of the data-parallel lane, where reductions (and gathers) run under compute.
namespace foreshard {

/// Per rank, the end of the last reduction that the optimizer waits for; no order of the lane undercuts it. The lane
/// runs its collectives one after the other, so that
/// - of overlapped gradient buckets each starts when the one before has left the lane, and not before the passes that
///   stand in front of its backward in the rank's list are done;
/// - with sharded parameters it takes at least the sum of all gathers and reductions, and the rank at least that of its
///   passes with what they lose to communication beside them. Without a pipeline the first gather precedes all compute
///   and the last reduction follows it.
/// Zero where nothing of a step's gradients overlaps, and where times decide what is fused (Horovod).
/// @param starts per rank: no pass starts before (see earliest_starts)
std::vector<Picoseconds> lane_ends(const Job& job, const Schedule& schedule, const PipelineCosts& costs,
                                   const std::vector<Picoseconds>& starts, const CostModel& cost,
                                   const NetworkModel& network);

}  // namespace foreshard
