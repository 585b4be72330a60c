#include "sim/result/timeline.hpp"

#include <algorithm>

namespace foreshard {

void set_window(const TaskGraph& graph, Timeline& timeline) {
    timeline.makespan = 0;
    for (const Picoseconds end : timeline.end) timeline.makespan = std::max(timeline.makespan, end);
    timeline.window_start = 0;
    timeline.window_end = timeline.makespan;
    if (graph.steps == 1) return;
    // Steps overlap: a step ends where its last rank ends its compute stream's part.
    std::vector<Picoseconds> step_end(static_cast<std::size_t>(graph.steps), 0);
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
        if (graph.tasks[i].kind != TaskKind::step_end) continue;
        Picoseconds& end = step_end[graph.tasks[i].step];
        end = std::max(end, timeline.end[i]);
    }
    timeline.window_end = step_end.back();
    timeline.window_start = step_end[step_end.size() - 2];
}

}  // namespace foreshard
