#pragma once

#include <string>

#include "sim/cost/cost_model.hpp"
#include "sim/cost/network_model.hpp"
#include "sim/plan/schedule.hpp"
#include "sim/spec/job.hpp"
#include "sim/units.hpp"

/// The step without playing the schedule: closed forms where they are exact, a proved lower bound elsewhere. For
/// search.
namespace foreshard {

struct Estimate {
    Picoseconds step_time = 0;  ///< never above the engine's
    bool exact = false;         ///< equal to the engine's
    std::string form;           ///< the closed form or bound, in symbols
};

/// Costs are those of the engine: every distinct stage once, O(stages x ranks) beyond reading the schedule's lists.
///
/// The bound, for any order of actions: rank r cannot start before a micro-batch has come through the stages before it
/// (head), must run all its passes one after the other, and when its last gradient has left, that gradient still has to
/// pass the stages below (tail); then come reduction, optimizer and the step's end. Gradients that are reduced under
/// compute, and sharded parameters, add the bound of their lane (lane_bound.hpp). Where steps flow into each other
/// (overlapped parameter gathers, skewed or asynchronous steps) the bound is of the steady period.
/// Precondition: check(job) is empty, the schedule is the job's.
Estimate estimate(const Job& job, const Schedule& schedule);

/// The same with models that are at hand: those of the job, which may remember what they were asked.
Estimate estimate(const Job& job, const Schedule& schedule, const CostModel& cost, const NetworkModel& network);

}  // namespace foreshard
