#pragma once

#include <string>
#include <vector>

#include "sim/cost/pass_time.hpp"
#include "sim/plan/dry_run.hpp"
#include "sim/plan/task_graph.hpp"
#include "sim/plan/work_duration.hpp"

/// Every cost of a TaskGraph, computed once per distinct work and message and rounded once.
namespace foreshard {

struct CommDuration {
    Picoseconds busy = 0;     ///< the stream cannot start its next message before
    Picoseconds latency = 0;  ///< from then to arrival
};

struct Durations {
    std::vector<WorkDuration> works;  ///< like TaskGraph::works
    std::vector<CommDuration> comms;  ///< like TaskGraph::comm_classes
    std::vector<std::string> limits;  ///< what bounds each comm class, in words
};

/// Costs by the models.
Durations durations(const Job& job, const TaskGraph& graph, const CostModel& cost, const NetworkModel& network);

/// Pass times of every stage and the longest way of a message between neighbouring ranks, for schedules that follow
/// times.
PassCosts pass_costs(const Job& job, const CostModel& cost, const NetworkModel& network);

/// Costs given by the user (--stage-times). Precondition: the graph was lowered from a job with stage times.
Durations given_durations(const StageTimes& times, const TaskGraph& graph);

/// Parameters that the rank's optimizer updates: replicated ones or its shard of them.
double optimizer_parameters(const Job& job, const TaskGraph& graph, int rank);

}  // namespace foreshard
