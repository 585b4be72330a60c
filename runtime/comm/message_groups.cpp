#include "runtime/comm/message_groups.hpp"

#include <algorithm>

namespace foreshard::runtime {

namespace {

class Grouping {
public:
    Grouping(const TaskGraph& graph, const std::vector<std::int32_t>& order) : graph_(graph), by_rank_(graph.ranks) {
        place_.resize(graph.tasks.size());
        next_.resize(graph.tasks.size(), -1);
        grouped_.resize(graph.tasks.size());
        for (const std::int32_t task : order) {
            std::vector<std::int32_t>& mine = by_rank_[static_cast<std::size_t>(graph.rank_of(task))];
            place_[static_cast<std::size_t>(task)] = static_cast<std::int32_t>(mine.size());
            mine.push_back(task);
        }
    }

    std::vector<std::int32_t> run() {
        for (const std::vector<std::int32_t>& mine : by_rank_) {
            for (std::size_t i = 1; i < mine.size(); ++i) try_group(mine[i - 1], mine[i]);
        }
        return std::move(next_);
    }

private:
    const Task& task(std::int32_t id) const { return graph_.tasks[static_cast<std::size_t>(id)]; }
    bool is_message(std::int32_t id) const {
        return task(id).kind == TaskKind::send || task(id).kind == TaskKind::recv;
    }
    std::int32_t other_end(std::int32_t id) const {
        const auto members = graph_.members_of(task(id).comm);
        return members[0] == id ? members[1] : members[0];
    }
    bool depends(std::int32_t later, std::int32_t earlier) const {
        const auto deps = std::span(graph_.deps).subspan(task(later).first_dep, task(later).deps);
        return std::find(deps.begin(), deps.end(), earlier) != deps.end();
    }
    void try_group(std::int32_t first, std::int32_t second);

    const TaskGraph& graph_;
    std::vector<std::vector<std::int32_t>> by_rank_;
    std::vector<std::int32_t> place_;  ///< of a task among its rank's
    std::vector<std::int32_t> next_;
    std::vector<char> grouped_;
};

void Grouping::try_group(std::int32_t first, std::int32_t second) {
    if (!is_message(first) || !is_message(second) || task(first).kind == task(second).kind) return;
    if (grouped_[static_cast<std::size_t>(first)] != 0 || grouped_[static_cast<std::size_t>(second)] != 0) return;
    if (graph_.members_of(task(first).comm).size() != 2 || graph_.members_of(task(second).comm).size() != 2) return;
    std::int32_t there_first = other_end(first);
    std::int32_t there_second = other_end(second);
    if (graph_.rank_of(there_first) != graph_.rank_of(there_second)) return;
    if (place_[static_cast<std::size_t>(there_first)] > place_[static_cast<std::size_t>(there_second)]) {
        std::swap(there_first, there_second);
    }
    const bool side_by_side =
        place_[static_cast<std::size_t>(there_second)] == place_[static_cast<std::size_t>(there_first)] + 1;
    if (!side_by_side || depends(second, first) || depends(there_second, there_first)) return;
    next_[static_cast<std::size_t>(first)] = second;
    next_[static_cast<std::size_t>(there_first)] = there_second;
    for (const std::int32_t id : {first, second, there_first, there_second}) grouped_[static_cast<std::size_t>(id)] = 1;
}

}  // namespace

std::vector<std::int32_t> message_groups(const TaskGraph& graph, const std::vector<std::int32_t>& order) {
    return Grouping(graph, order).run();
}

void group_messages(IssueList& list, const std::vector<std::int32_t>& groups) {
    for (Issue& issue : list.issues) issue.grouped_with_next = groups[static_cast<std::size_t>(issue.task)] >= 0;
}

}  // namespace foreshard::runtime
