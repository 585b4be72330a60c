#pragma once

#include <vector>

#include "sim/plan/task_graph.hpp"
#include "sim/plan/work_duration.hpp"
#include "sim/spec/job.hpp"

namespace foreshard {

/// What equal ranks wait for each other's disturbances, by the job's calibration (RankLeadLaw). The prediction plays
/// ranks that take what they take on the average, and such ranks would not wait.
struct RankWaits {
    Seconds message;  ///< for each message of a pipeline: what its sender is later than usual
    Seconds step;     ///< of replicas, once a step
};

/// Neighbours of a pipeline meet behind every pass, of mean length; replicas behind what a rank computes in a step,
/// mean over ranks. Nothing without a calibration that knows and holds, nor where replicas do not wait for each other
/// (parameter servers) or where there are none. Ranks that meet inside passes have rank_wait_ratio.
/// @param works times of the graph's works
RankWaits rank_waits(const Job& job, const TaskGraph& graph, const std::vector<WorkDuration>& works);

}  // namespace foreshard
