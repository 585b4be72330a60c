#include "sim/engine/simulator.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/cost/variation.hpp"

namespace foreshard {

namespace {

/// A stream that stops on an unfinished task enters that task's list of waiters and is resumed by it; so every task is
/// visited once per dependency, and no queue of events is needed.
class FixedDurations {
public:
    FixedDurations(const TaskGraph& graph, const Durations& durations)
        : graph_(graph),
          durations_(durations),
          next_(graph.streams.size()),
          free_(graph.streams.size(), 0),
          first_waiter_(graph.tasks.size(), -1),
          next_waiter_(graph.streams.size(), -1),
          arrived_(graph.comms.size(), 0),
          ready_(graph.comms.size(), 0) {
        timeline_.start.assign(graph.tasks.size(), 0);
        timeline_.end.assign(graph.tasks.size(), unfinished);
        runnable_.reserve(graph.streams.size());
        for (std::size_t s = graph.streams.size(); s-- > 0;) {
            next_[s] = graph.streams[s].first;
            runnable_.push_back(static_cast<std::int32_t>(s));
        }
    }

    Timeline run() {
        while (!runnable_.empty()) {
            const std::int32_t stream = runnable_.back();
            runnable_.pop_back();
            advance(static_cast<std::size_t>(stream));
        }
        check_complete(graph_, next_);
        timeline_.works = durations_.works;
        set_window(graph_, timeline_);
        return std::move(timeline_);
    }

private:
    void advance(std::size_t stream);
    bool inputs_ready(std::size_t stream, const Task& task, Picoseconds& at);
    bool arrive(std::size_t stream, const Task& task, Picoseconds at);
    void finish(std::int32_t task, Picoseconds start, Picoseconds end);

    const TaskGraph& graph_;
    const Durations& durations_;
    Timeline timeline_;
    std::vector<std::int32_t> next_;  ///< per stream: first task that has not run
    std::vector<Picoseconds> free_;
    std::vector<std::int32_t> first_waiter_;  ///< per task: stream
    std::vector<std::int32_t> next_waiter_;   ///< per stream: stream
    std::vector<std::int32_t> arrived_;       ///< per comm
    std::vector<Picoseconds> ready_;
    std::vector<std::int32_t> runnable_;
};

bool FixedDurations::inputs_ready(std::size_t stream, const Task& task, Picoseconds& at) {
    for (std::uint32_t d = 0; d < task.deps; ++d) {
        const auto dep = static_cast<std::size_t>(graph_.deps[task.first_dep + d]);
        if (timeline_.end[dep] == unfinished) {
            next_waiter_[stream] = first_waiter_[dep];
            first_waiter_[dep] = static_cast<std::int32_t>(stream);
            return false;
        }
        at = std::max(at, timeline_.end[dep]);
    }
    return true;
}

void FixedDurations::finish(std::int32_t task, Picoseconds start, Picoseconds end) {
    const auto t = static_cast<std::size_t>(task);
    timeline_.start[t] = start;
    timeline_.end[t] = end;
    for (std::int32_t s = first_waiter_[t]; s >= 0; s = next_waiter_[static_cast<std::size_t>(s)]) {
        runnable_.push_back(s);
    }
}

/// Returns true when the comm ran, and then has moved all its members' streams past it.
bool FixedDurations::arrive(std::size_t stream, const Task& task, Picoseconds at) {
    const auto c = static_cast<std::size_t>(task.comm);
    const Comm& comm = graph_.comms[c];
    ready_[c] = std::max(ready_[c], at);
    if (++arrived_[c] < comm.members) return false;
    const CommDuration& duration = durations_.comms[static_cast<std::size_t>(comm.comm_class)];
    for (const std::int32_t member : graph_.members_of(task.comm)) {
        const auto s = static_cast<std::size_t>(graph_.tasks[static_cast<std::size_t>(member)].stream);
        free_[s] = ready_[c] + duration.busy;
        next_[s] = member + 1;
        finish(member, ready_[c], free_[s] + duration.latency);
        if (s != stream) runnable_.push_back(static_cast<std::int32_t>(s));
    }
    return true;
}

void FixedDurations::advance(std::size_t stream) {
    const std::int32_t last = graph_.streams[stream].last;
    while (next_[stream] < last) {
        const std::int32_t id = next_[stream];
        const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
        Picoseconds at = free_[stream];
        if (!inputs_ready(stream, task, at)) return;
        if (task.comm >= 0) {
            if (!arrive(stream, task, at)) return;
            continue;
        }
        free_[stream] = at + task_time(graph_, durations_, id);
        ++next_[stream];
        finish(id, at, free_[stream]);
    }
}

}  // namespace

void check_complete(const TaskGraph& graph, const std::vector<std::int32_t>& next) {
    std::string waiting;
    for (std::size_t s = 0; s < graph.streams.size(); ++s) {
        if (next[s] == graph.streams[s].last) continue;
        waiting += "\n  rank " + std::to_string(graph.streams[s].rank) + " " +
                   std::string(to_string(graph.streams[s].lane)) + " waits at " + task_name(graph, next[s]);
    }
    if (!waiting.empty()) throw std::logic_error("the task graph cannot complete:" + waiting);
}

Timeline simulate(const TaskGraph& graph, const Durations& durations) {
    return FixedDurations(graph, durations).run();
}

}  // namespace foreshard
