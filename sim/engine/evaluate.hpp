#pragma once

#include <optional>

#include "sim/cost/flow_map.hpp"
#include "sim/engine/async_sgd.hpp"
#include "sim/plan/buffer_plan.hpp"
#include "sim/plan/schedule.hpp"
#include "sim/plan/task_graph.hpp"
#include "sim/result/report.hpp"
#include "sim/result/timeline.hpp"
#include "sim/spec/job.hpp"

namespace foreshard {

/// A simulated job with everything on the way, so that views need not compute it again.
struct Evaluation {
    Job job;
    Schedule schedule;
    TaskGraph graph;
    BufferPlan buffers;
    Durations durations;
    FlowMap flows;                            ///< empty without contention
    std::optional<AsyncSgdResult> async_sgd;  ///< of plans with a parameter server
    Timeline timeline;
    Report report;
};

/// The job's schedule; one that follows times is made for the stage times, or for the predicted times of its stages.
/// Precondition: check(job) is empty.
/// @throws InputError when the job's schedule file is invalid
Schedule schedule_of(const Job& job);

/// Schedule, lowering, costs, simulation, report. Precondition: check(job) is empty.
/// @throws InputError when the job's schedule file is invalid
Evaluation evaluate(const Job& job);

}  // namespace foreshard
