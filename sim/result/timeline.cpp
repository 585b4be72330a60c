#include "sim/result/timeline.hpp"

#include <algorithm>

namespace foreshard {

void set_window(const TaskGraph& graph, Timeline& timeline) {
    timeline.makespan = 0;
    for (const Picoseconds end : timeline.end) timeline.makespan = std::max(timeline.makespan, end);
    timeline.window_start = 0;
    timeline.window_end = timeline.makespan;
    if (graph.steps == 1) return;
    // Steps overlap: a step ends where its last rank ends its compute stream's part of it.
    std::vector<Picoseconds> step_end(static_cast<std::size_t>(graph.steps), 0);
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
        if (graph.tasks[i].comm >= 0) continue;
        Picoseconds& end = step_end[graph.tasks[i].step];
        end = std::max(end, timeline.end[i]);
    }
    const auto window = static_cast<std::size_t>(graph.window_step);
    timeline.window_end = step_end[window];
    timeline.window_start = window > 0 ? step_end[window - 1] : 0;
}

}  // namespace foreshard
