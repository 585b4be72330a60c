#pragma once

#include <vector>

#include "sim/cost/network_model.hpp"
#include "sim/engine/pipeline_bound.hpp"
#include "sim/plan/schedule.hpp"

/// Lower bound of the data-parallel lane, where reductions (and gathers) run under compute.
namespace foreshard {

/// What no order of the lane undercuts, per rank.
struct LaneBound {
    std::vector<Picoseconds> ends;    ///< the last reduction that the optimizer waits for
    std::vector<Picoseconds> before;  ///< compute starts behind this much: the first gather of sharded parameters
    std::vector<Picoseconds> after;   ///< between the last pass and the optimizer: the last reduction
};

/// The lane runs its collectives one after the other, so that
/// - of overlapped gradient buckets each starts when the one before has left the lane, and not before the passes that
///   stand in front of its backward in the rank's list are done;
/// - with sharded parameters it takes at least the sum of all gathers and reductions. Without a pipeline the first
///   gather precedes all compute and the last reduction follows it.
/// Zero where nothing of a step's gradients overlaps, and where times decide what is fused (Horovod).
/// @param starts per rank: no pass starts before (see earliest_starts)
LaneBound lane_bound(const Job& job, const Schedule& schedule, const PipelineCosts& costs,
                     const std::vector<Picoseconds>& starts, const NetworkModel& network);

}  // namespace foreshard
