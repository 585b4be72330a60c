#pragma once

#include "sim/cost/durations.hpp"
#include "sim/result/timeline.hpp"

namespace foreshard {

/// End of a task that has not ended yet.
inline constexpr Picoseconds unfinished = -1;

/// Fixed-duration path: exact longest path through streams, dependencies and comms, in integers. A comm starts when its
/// last member arrives. O(tasks + dependencies); no allocation in the loop.
/// @throws std::logic_error when the graph cannot complete, naming the tasks that wait
Timeline simulate(const TaskGraph& graph, const Durations& durations);

/// `next` is the first task of each stream that has not run. @throws std::logic_error unless all have
void check_complete(const TaskGraph& graph, const std::vector<std::int32_t>& next);

}  // namespace foreshard
