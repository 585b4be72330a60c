#include "runtime/issue_order.hpp"

#include <algorithm>
#include <queue>
#include <span>
#include <stdexcept>
#include <tuple>

namespace foreshard::runtime {

namespace {

std::size_t place_of(std::int32_t index) {
    return static_cast<std::size_t>(index);
}

std::span<const std::int32_t> needed_by(const TaskGraph& graph, std::int32_t task) {
    const Task& t = graph.tasks[place_of(task)];
    return std::span(graph.deps).subspan(t.first_dep, t.deps);
}

int unit_time(const Task& task) {
    if (task.kind != TaskKind::pass) return 0;
    return task.pass == Pass::backward ? 2 : 1;
}

/// Takes nodes one after another; the members of a comm are one node, under its first member.
class Order {
public:
    explicit Order(const TaskGraph& graph)
        : graph_(graph), start_(graph.tasks.size()), open_(graph.tasks.size()), successors_(graph.tasks.size()) {
        for (std::int32_t task = 0; task < static_cast<std::int32_t>(graph.tasks.size()); ++task) {
            if (task > graph.stream_of(task).first) join(task - 1, task);
            for (const std::int32_t dep : needed_by(graph, task)) join(dep, task);
        }
    }

    std::vector<std::int32_t> take_all() {
        for (std::int32_t task = 0; task < static_cast<std::int32_t>(graph_.tasks.size()); ++task) {
            if (node_of(task) == task && open_[place_of(task)] == 0) push(task);
        }
        std::vector<std::int32_t> order;
        order.reserve(graph_.tasks.size());
        while (!ready_.empty()) {
            const std::int32_t node = std::get<2>(ready_.top());
            ready_.pop();
            for (const std::int32_t member : members_of(node)) order.push_back(member);
            release(node);
        }
        if (order.size() != graph_.tasks.size()) throw std::logic_error("tasks of the graph wait for each other");
        return order;
    }

private:
    using Ready = std::tuple<std::int64_t, bool, std::int32_t>;  ///< start, whether it is no communication, node

    void push(std::int32_t node) { ready_.push({start_[place_of(node)], graph_.tasks[place_of(node)].comm < 0, node}); }

    std::int32_t node_of(std::int32_t task) const {
        const std::int32_t comm = graph_.tasks[place_of(task)].comm;
        return comm < 0 ? task : graph_.members_of(comm).front();
    }

    std::span<const std::int32_t> members_of(const std::int32_t& node) const {
        const std::int32_t comm = graph_.tasks[place_of(node)].comm;
        return comm < 0 ? std::span(&node, 1) : graph_.members_of(comm);
    }

    void join(std::int32_t before, std::int32_t after) {
        successors_[place_of(node_of(before))].push_back(node_of(after));
        ++open_[place_of(node_of(after))];
    }

    void release(std::int32_t node) {
        const std::int64_t end = start_[place_of(node)] + unit_time(graph_.tasks[place_of(node)]);
        for (const std::int32_t next : successors_[place_of(node)]) {
            start_[place_of(next)] = std::max(start_[place_of(next)], end);
            if (--open_[place_of(next)] == 0) push(next);
        }
    }

    const TaskGraph& graph_;
    std::vector<std::int64_t> start_;
    std::vector<int> open_;  ///< joins from nodes that are not taken yet
    std::vector<std::vector<std::int32_t>> successors_;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
};

/// What every queue of a rank knows to be done: per queue, how many of its tasks.
class Knowledge {
public:
    explicit Knowledge(int queues) : known_(place_of(queues), std::vector<std::int32_t>(place_of(queues), 0)) {}

    bool covers(int queue, int other, std::int32_t done) const {
        return known_[place_of(queue)][place_of(other)] >= done;
    }
    void learn(int queue, const std::vector<std::int32_t>& more) {
        std::vector<std::int32_t>& mine = known_[place_of(queue)];
        std::transform(mine.begin(), mine.end(), more.begin(), mine.begin(),
                       [](std::int32_t a, std::int32_t b) { return std::max(a, b); });
    }
    /// The queue issues its next task. @returns what is known behind it
    const std::vector<std::int32_t>& go_on(int queue) {
        ++known_[place_of(queue)][place_of(queue)];
        return known_[place_of(queue)];
    }

private:
    std::vector<std::vector<std::int32_t>> known_;
};

}  // namespace

std::vector<std::int32_t> issue_order(const TaskGraph& graph) {
    return Order(graph).take_all();
}

IssueList issue_list(const TaskGraph& graph, int simulated_rank, const std::vector<std::int32_t>& order) {
    IssueList list;
    std::vector<int> queue_of(graph.streams.size(), -1);
    for (std::size_t s = 0; s < graph.streams.size(); ++s) {
        const Stream& stream = graph.streams[s];
        if (stream.rank != simulated_rank) continue;
        if (list.queues == 0) list.first_task = stream.first;
        queue_of[s] = list.queues++;
        list.tasks += stream.last - stream.first;
    }
    Knowledge knowledge(list.queues);
    std::vector<std::vector<std::int32_t>> behind(place_of(list.tasks));  // what is known when a task is done
    std::vector<std::size_t> place(place_of(list.tasks));
    list.issues.reserve(place_of(list.tasks));
    for (const std::int32_t task : order) {
        const int queue = queue_of[place_of(graph.tasks[place_of(task)].stream)];
        if (queue < 0) continue;
        Issue issue{task, queue, {}, false};
        std::vector<std::int32_t> deps(needed_by(graph, task).begin(), needed_by(graph, task).end());
        // Latest first: it may know of the others.
        std::sort(deps.begin(), deps.end(), [&](std::int32_t a, std::int32_t b) {
            return place[place_of(a - list.first_task)] > place[place_of(b - list.first_task)];
        });
        for (const std::int32_t dep : deps) {
            const Stream& stream = graph.stream_of(dep);
            const int other = queue_of[place_of(graph.tasks[place_of(dep)].stream)];
            if (knowledge.covers(queue, other, dep - stream.first + 1)) continue;
            issue.waits.push_back(dep);
            knowledge.learn(queue, behind[place_of(dep - list.first_task)]);
            list.issues[place[place_of(dep - list.first_task)]].awaited = true;
        }
        behind[place_of(task - list.first_task)] = knowledge.go_on(queue);
        place[place_of(task - list.first_task)] = list.issues.size();
        list.issues.push_back(std::move(issue));
    }
    return list;
}

}  // namespace foreshard::runtime
