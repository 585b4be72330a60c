#include "sim/engine/computing_ranks.hpp"

#include <algorithm>
#include <vector>

namespace foreshard {

namespace {

/// A task of a simulated rank starts or ends.
struct Change {
    Picoseconds time = 0;
    int rank = 0;
    int tasks = 0;
};

bool computes(const TaskGraph& graph, std::size_t task) {
    const TaskKind kind = graph.tasks[task].kind;
    return kind == TaskKind::pass || kind == TaskKind::optimizer;
}

std::vector<Change> changes_of(const TaskGraph& graph, const Timeline& timeline) {
    std::vector<Change> changes;
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
        if (!computes(graph, task) || timeline.end[task] <= timeline.start[task]) continue;
        const int rank = graph.rank_of(static_cast<std::int32_t>(task));
        changes.push_back({timeline.start[task], rank, 1});
        changes.push_back({timeline.end[task], rank, -1});
    }
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
    return changes;
}

}  // namespace

double computing_ranks(const TaskGraph& graph, const Timeline& timeline) {
    double rank_time = 0.0;
    double together = 0.0;
    std::vector<int> tasks(static_cast<std::size_t>(graph.ranks), 0);  // two in a fused pair
    int computing = 0;
    Picoseconds before = 0;
    for (const Change& change : changes_of(graph, timeline)) {
        const double ranks = 1.0 * computing * graph.ranks_represented;
        const auto passed = static_cast<double>(change.time - before);
        rank_time += ranks * passed;
        together += ranks * ranks * passed;
        before = change.time;
        int& own = tasks[static_cast<std::size_t>(change.rank)];
        computing -= own > 0 ? 1 : 0;
        own += change.tasks;
        computing += own > 0 ? 1 : 0;
    }
    return rank_time > 0.0 ? together / rank_time : 1.0;
}

}  // namespace foreshard
