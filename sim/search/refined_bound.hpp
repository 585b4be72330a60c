#pragma once

#include "sim/cost/cost_model.hpp"
#include "sim/cost/network_model.hpp"
#include "sim/plan/schedule.hpp"
#include "sim/spec/job.hpp"
#include "sim/units.hpp"

/// Bounds of a plan from its list of actions: dearer than those of plan_bound.hpp, several times cheaper than a
/// simulation, and tight where those leave much out (overlapped reductions, sharded parameters, rare schedules).
namespace foreshard {

/// Neither bound is above what the engine finds. Precondition of both: check(job) is empty, the schedule is the job's.

/// Allocated by the rank with the most: its states and the tensors that it holds while it works through its actions one
/// after the other. 0 where buffers are counted op by op, or lie on the host.
ByteCount refined_memory(const Job& job, const Schedule& schedule);

/// The step of estimate(). @param cost, network those of the job; they may remember what they were asked
Picoseconds refined_step_time(const Job& job, const Schedule& schedule, const CostModel& cost,
                              const NetworkModel& network);

}  // namespace foreshard
