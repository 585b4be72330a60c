#include "sim/result/account.hpp"

#include <algorithm>

namespace foreshard {

namespace {

Account of_spent(const Task& task, Spent spent) {
    switch (spent) {
        case Spent::recompute:
            return Account::recompute;
        case Spent::exposed_tp:
            return Account::exposed_tp;
        case Spent::exposed_cp:
            return Account::exposed_cp;
        case Spent::exposed_ep:
            return Account::exposed_ep;
        case Spent::host:
            return Account::host;
        case Spent::exposed_dp:
            return Account::exposed_dp;
        case Spent::offload:
            return Account::exposed_offload;
        case Spent::compute:
            break;
    }
    if (task.kind == TaskKind::optimizer) return Account::optimizer;
    if (task.kind == TaskKind::step_end) return Account::host;
    switch (task.pass) {
        case Pass::forward:
        case Pass::vocab_forward:
            return Account::forward;
        case Pass::weight_grad:
            return Account::weight_grad;
        case Pass::backward:
        case Pass::input_grad:
        case Pass::vocab_backward:
            return Account::backward;
    }
    return Account::forward;
}

Account of_wait(TaskKind kind) {
    if (kind == TaskKind::offload || kind == TaskKind::reload) return Account::exposed_offload;
    const bool pipeline = kind == TaskKind::send || kind == TaskKind::recv || kind == TaskKind::vocabulary;
    return pipeline ? Account::exposed_pp : Account::exposed_dp;
}

/// Walks one rank's compute stream through the window.
class RankWalk {
public:
    RankWalk(const TaskGraph& graph, const Timeline& timeline)
        : graph_(graph), timeline_(timeline), at_(timeline.window_start) {}

    RankAccount walk(const Stream& stream) {
        for (std::int32_t id = stream.first; id < stream.last; ++id) {
            if (timeline_.end[static_cast<std::size_t>(id)] <= timeline_.window_start) continue;
            wait_until(id, timeline_.start[static_cast<std::size_t>(id)]);
            spend(id);
        }
        entry(account_, Account::bubble) += timeline_.window_end - at_;
        return account_;
    }

private:
    enum class Copies { no, yes };

    void wait_until(std::int32_t id, Picoseconds until);
    void wait_for(std::int32_t id, Picoseconds until, Copies copies);
    void spend(std::int32_t id);

    const TaskGraph& graph_;
    const Timeline& timeline_;
    Picoseconds at_;
    RankAccount account_{};
};

/// A copy to or from the host waits for nothing but other copies, so that its whole wait is theirs; it counts from
/// where the task would have waited for something else anyway.
void RankWalk::wait_for(std::int32_t id, Picoseconds until, Copies copies) {
    const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
    for (std::uint32_t d = 0; d < task.deps && at_ < until; ++d) {
        const auto dep = static_cast<std::size_t>(graph_.deps[task.first_dep + d]);
        if (graph_.tasks[dep].comm < 0 || timeline_.end[dep] <= at_) continue;
        const Account kind = of_wait(graph_.tasks[dep].kind);
        const bool copy = kind == Account::exposed_offload;
        if (copy != (copies == Copies::yes)) continue;
        const Picoseconds begin = copy ? at_ : std::clamp(timeline_.start[dep], at_, until);
        const Picoseconds end = std::clamp(timeline_.end[dep], begin, until);
        entry(account_, Account::bubble) += begin - at_;
        entry(account_, kind) += end - begin;
        at_ = end;
    }
}

void RankWalk::wait_until(std::int32_t id, Picoseconds until) {
    until = std::min(until, timeline_.window_end);
    wait_for(id, until, Copies::no);
    wait_for(id, until, Copies::yes);
    entry(account_, Account::bubble) += std::max(until - at_, Picoseconds{0});
    at_ = std::max(at_, until);
}

/// Parts are laid out one after the other from the task's start, so that clipping keeps the sum. Of a task that took
/// longer or shorter than its work alone they keep their shares.
void RankWalk::spend(std::int32_t id) {
    const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
    const Picoseconds start = timeline_.start[static_cast<std::size_t>(id)];
    const Picoseconds length = timeline_.end[static_cast<std::size_t>(id)] - start;
    const Picoseconds task_end = std::min(start + length, timeline_.window_end);
    Picoseconds spent = 0;
    for (int i = 0; i < spent_count && !timeline_.works.empty(); ++i) {
        const WorkDuration& work = timeline_.works[static_cast<std::size_t>(task.work)];
        spent += work.spent[static_cast<std::size_t>(i)];
        const Picoseconds part_end = start + scaled(spent, length, work.total());
        const Picoseconds end = std::clamp(part_end, at_, std::max(task_end, at_));
        entry(account_, of_spent(task, static_cast<Spent>(i))) += end - at_;
        at_ = end;
    }
    if (at_ >= task_end) return;
    entry(account_, of_spent(task, Spent::compute)) += task_end - at_;
    at_ = task_end;
}

struct Span {
    Picoseconds first = 0;
    Picoseconds last = 0;
    Picoseconds busy = 0;
    bool any = false;
};

Span pass_span(const TaskGraph& graph, const Timeline& timeline, const Stream& stream) {
    Span span;
    for (std::int32_t id = stream.first; id < stream.last; ++id) {
        const auto i = static_cast<std::size_t>(id);
        if (graph.tasks[i].kind != TaskKind::pass || graph.tasks[i].step != graph.window_step) continue;
        if (!span.any) span.first = timeline.start[i];
        span.any = true;
        span.last = timeline.end[i];
        span.busy += timeline.end[i] - timeline.start[i];
    }
    return span;
}

double ratio(Picoseconds part, Picoseconds whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

}  // namespace

std::string_view to_string(Account account) {
    switch (account) {
        case Account::forward:
            return "forward";
        case Account::backward:
            return "backward";
        case Account::weight_grad:
            return "weight_grad";
        case Account::recompute:
            return "recompute";
        case Account::optimizer:
            return "optimizer";
        case Account::host:
            return "host";
        case Account::data:
            return "data";
        case Account::exposed_tp:
            return "exposed_tp";
        case Account::exposed_cp:
            return "exposed_cp";
        case Account::exposed_ep:
            return "exposed_ep";
        case Account::exposed_pp:
            return "exposed_pp";
        case Account::exposed_dp:
            return "exposed_dp";
        case Account::exposed_offload:
            return "exposed_offload";
        case Account::bubble:
            return "bubble";
    }
    return "";
}

std::vector<RankAccount> accounts(const TaskGraph& graph, const Timeline& timeline) {
    std::vector<RankAccount> all;
    for (const Stream& stream : graph.streams) {
        if (stream.lane == Lane::compute) all.push_back(RankWalk(graph, timeline).walk(stream));
    }
    return all;
}

std::vector<Picoseconds> data_parallel_times(const TaskGraph& graph, const Timeline& timeline) {
    std::vector<Picoseconds> times(static_cast<std::size_t>(graph.ranks), 0);
    for (const Stream& stream : graph.streams) {
        if (stream.lane != Lane::dp && stream.lane != Lane::dp_replica && stream.lane != Lane::embedding) continue;
        for (std::int32_t id = stream.first; id < stream.last; ++id) {
            const auto t = static_cast<std::size_t>(id);
            const Picoseconds begin = std::max(timeline.start[t], timeline.window_start);
            const Picoseconds end = std::min(timeline.end[t], timeline.window_end);
            times[static_cast<std::size_t>(stream.rank)] += std::max(end - begin, Picoseconds{0});
        }
    }
    return times;
}

Picoseconds busy_time(const RankAccount& account) {
    Picoseconds busy = 0;
    for (int i = 0; i < account_count; ++i) {
        const auto kind = static_cast<Account>(i);
        const bool idle = kind == Account::bubble || kind == Account::exposed_pp || kind == Account::exposed_dp ||
                          kind == Account::exposed_offload;
        if (!idle) busy += account[static_cast<std::size_t>(i)];
    }
    return busy;
}

BubbleFigures bubble_figures(const TaskGraph& graph, const Timeline& timeline) {
    BubbleFigures figures;
    Picoseconds first = 0;
    Picoseconds last = 0;
    Picoseconds work = 0;
    Picoseconds busy = 0;
    Picoseconds longest = 0;
    bool any = false;
    for (const Stream& stream : graph.streams) {
        if (stream.lane != Lane::compute) continue;
        const Span span = pass_span(graph, timeline, stream);
        if (!span.any) continue;
        first = any ? std::min(first, span.first) : span.first;
        last = std::max(last, span.last);
        any = true;
        work = std::max(work, span.busy);
        busy += span.busy;
        longest = std::max(longest, span.last - span.first);
    }
    // Without a flush the passes of neighbouring steps mingle; a step's own are then spread over more than its time.
    if (graph.asynchronous) {
        figures.phase = timeline.step_time();
        longest = figures.phase;
    } else {
        figures.phase = last - first;
    }
    figures.bubble_ratio = any ? 1.0 - ratio(busy, graph.ranks * figures.phase) : 0.0;
    figures.bubble_over_ideal_ratio = ratio(figures.phase - work, work);
    figures.bubble_span_ratio = ratio(longest - work, longest);
    return figures;
}

}  // namespace foreshard
