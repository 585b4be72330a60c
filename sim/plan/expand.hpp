#pragma once

#include "sim/plan/task_graph.hpp"

namespace foreshard {

/// The graph with every data-parallel replica by itself: a copy of all streams per replica, messages inside each
/// replica, and one comm over all replicas for each collective that stood for all of them. Replica r's copy of
/// simulated rank i is rank r x pipeline_ranks + i; works are shared. Precondition: the graph is not expanded.
TaskGraph expand_replicas(const Job& job, const TaskGraph& graph, int replicas);

/// True when the job's ranks differ by what it says of speeds, links and randomness, or expansion is asked for.
/// Contention is not looked at: whether it treats replicas alike is known once flows are mapped to links.
bool replicas_differ(const Job& job);

}  // namespace foreshard
