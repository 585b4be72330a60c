#pragma once

#include "sim/plan/task_graph.hpp"
#include "sim/result/timeline.hpp"

namespace foreshard {

/// How many ranks compute while a rank does, itself included: mean over the time that any rank computes, each rank's
/// time counted. Ranks that a simulated one stands for compute when it does. 1 where nothing computes.
double computing_ranks(const TaskGraph& graph, const Timeline& timeline);

}  // namespace foreshard
