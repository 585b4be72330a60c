#pragma once

#include <vector>

#include "sim/plan/task_graph.hpp"
#include "sim/plan/work_duration.hpp"
#include "sim/units.hpp"

/// What ran where and when: a start and an end for every task of a TaskGraph. Simulator, runtime and importer make it.
namespace foreshard {

struct Timeline {
    std::vector<Picoseconds> start;   ///< like TaskGraph::tasks
    std::vector<Picoseconds> end;     ///< of communication: arrival of the data
    std::vector<WorkDuration> works;  ///< like TaskGraph::works: what compute tasks are made of; empty if not known
    Picoseconds makespan = 0;

    /// The step that figures are taken from: the last steady one. Of length window_end - window_start = step time.
    Picoseconds window_start = 0;
    Picoseconds window_end = 0;
    Picoseconds step_time() const { return window_end - window_start; }
};

/// Fills makespan and window from the spans: the whole timeline for one step, else the graph's window step.
void set_window(const TaskGraph& graph, Timeline& timeline);

}  // namespace foreshard
