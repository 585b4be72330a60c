#include "runtime/fault.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/meeting.hpp"
#include "sim/plan/dry_run.hpp"

namespace foreshard::runtime {

namespace {

/// What a message is, whatever carries it: stage that consumes it, micro-batch, forward or not.
using SendKey = std::tuple<std::int32_t, std::int32_t, bool>;

/// Gathers of updated parameters come after the gradients of their step; those of sharded ones before.
bool feeds_gradient(const TaskGraph& graph, const Task& task) {
    if (task.step != 0 || task.comm < 0) return false;
    if (task.kind == TaskKind::param_gather) return !graph.gathered.empty();
    // Any maximum gives the same softmax, as long as all ranks take the same.
    if (task.kind == TaskKind::vocabulary) return task.use != VocabularyUse::maximum;
    return task.kind == TaskKind::grad_reduce || task.kind == TaskKind::embedding_reduce;
}

/// The root of a broadcast, else the first member.
std::int32_t giver_of(const TaskGraph& graph, const Task& task) {
    const std::span<const std::int32_t> members = graph.members_of(task.comm);
    const int root = broadcast_root(graph, task.use);
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](std::int32_t member) { return graph.rank_of(member) == root; });
    return found == members.end() ? members.front() : *found;
}

}  // namespace

std::vector<Giver> gradient_feeders(const Schedule& schedule, const TaskGraph& graph, const Ranks& ranks) {
    const auto rank_at = [&](std::int32_t task) {
        return ranks.on_pipeline_rank(0, graph.places[static_cast<std::size_t>(graph.rank_of(task))].pp);
    };
    std::map<SendKey, Giver> sends;
    std::vector<Giver> collectives;
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(graph.tasks.size()); ++id) {
        const Task& task = graph.tasks[static_cast<std::size_t>(id)];
        if (task.kind == TaskKind::send && task.step == 0) {
            sends[{task.stage, task.microbatch, task.pass == Pass::forward}] = {rank_at(id), id};
        } else if (feeds_gradient(graph, task) && giver_of(graph, task) == id) {
            collectives.push_back({rank_at(id), id});
        }
    }
    std::vector<Giver> feeders;
    for (const Message& message : dry_run(schedule, unit_costs(schedule.stages)).messages) {
        const auto found = sends.find({message.to_stage, message.microbatch, message.forward});
        if (found != sends.end()) feeders.push_back(found->second);
    }
    feeders.insert(feeders.end(), collectives.begin(), collectives.end());
    return feeders;
}

}  // namespace foreshard::runtime
