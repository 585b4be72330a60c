#include "sim/plan/dry_run.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

namespace foreshard {

namespace {

constexpr Picoseconds never = -1;

Picoseconds duration(const StageTimes::Stage& times, Pass pass) {
    switch (pass) {
        case Pass::forward:
            return times.forward;
        case Pass::backward:
            return times.input_grad + times.weight_grad;
        case Pass::input_grad:
            return times.input_grad;
        case Pass::weight_grad:
            return times.weight_grad;
    }
    return 0;
}

bool gives_gradient(Pass pass) {
    return pass == Pass::backward || pass == Pass::input_grad;
}

/// Each rank runs as far as its inputs let it; a rank that stops is taken up again when a pass that it may wait for
/// has ended. Times follow from the dependencies alone, so the order of taking up does not matter.
class Evaluation {
public:
    Evaluation(const Schedule& schedule, const PassCosts& costs, DryRun& run)
        : schedule_(schedule),
          costs_(costs),
          run_(run),
          slots_(static_cast<std::size_t>(schedule.stages) * schedule.microbatches),
          forward_end_(slots_, never),
          gradient_end_(slots_, never),
          cursor_(schedule.actions.size(), 0),
          free_(schedule.actions.size(), 0),
          queued_(schedule.actions.size(), true) {
        run_ = {};
        run_.messages.reserve(2 * slots_);
        run_.start.resize(schedule.actions.size());
        run_.end.resize(schedule.actions.size());
        for (std::size_t r = 0; r < schedule.actions.size(); ++r) {
            run_.start[r].assign(schedule.actions[r].size(), 0);
            run_.end[r].assign(schedule.actions[r].size(), 0);
            ready_.push_back(static_cast<int>(r));
        }
    }

    bool complete(Deadlock& deadlock) {
        while (!ready_.empty()) {
            const int r = ready_.back();
            ready_.pop_back();
            queued_[r] = false;
            while (run_next_unit(r)) {
            }
        }
        run_.makespan = free_.empty() ? 0 : *std::max_element(free_.begin(), free_.end());
        deadlock.waiting.clear();
        for (int r = 0; r < static_cast<int>(cursor_.size()); ++r) {
            if (cursor_[r] < schedule_.actions[r].size()) deadlock.waiting.push_back(waiting(r));
        }
        return deadlock.waiting.empty();
    }

private:
    std::size_t slot(int stage, int microbatch) const {
        return static_cast<std::size_t>(stage) * schedule_.microbatches + microbatch;
    }

    /// When the output of `producer`, a forward or a gradient, reaches rank r; `never` when it is not there yet.
    Picoseconds arrival(const Action& producer, int r) const {
        const bool forward = producer.pass == Pass::forward;
        const Picoseconds end = (forward ? forward_end_ : gradient_end_)[slot(producer.stage, producer.microbatch)];
        if (end == never) return never;
        return schedule_.rank_of(producer.stage, producer.microbatch) == r ? end : end + costs_.hop;
    }

    /// Calls use(producer) for every input of the action; stops and returns false when it does.
    template <class Use>
    bool each_input(const Action& a, Use use) const {
        switch (a.pass) {
            case Pass::forward:
                return a.stage == 0 || use(Action{a.stage - 1, a.microbatch, Pass::forward});
            case Pass::backward:
            case Pass::input_grad:
                return use(Action{a.stage, a.microbatch, Pass::forward}) &&
                       (a.stage + 1 == schedule_.stages || use(Action{a.stage + 1, a.microbatch, Pass::input_grad}));
            case Pass::weight_grad:
                return use(Action{a.stage, a.microbatch, Pass::input_grad});
        }
        return true;
    }

    bool inputs_ready(const Action& a, int r, Picoseconds& start) const {
        return each_input(a, [&](const Action& producer) {
            const Picoseconds there = arrival(producer, r);
            start = std::max(start, there);
            return there != never;
        });
    }

    /// One past the last action of the fused unit that starts at `first`.
    std::size_t unit_end(const std::vector<Action>& list, std::size_t first) const {
        std::size_t last = first;
        while (list[last].fused_with_next && last + 1 < list.size()) ++last;
        return last + 1;
    }

    bool run_next_unit(int r) {
        const std::vector<Action>& list = schedule_.actions[r];
        const std::size_t first = cursor_[r];
        if (first == list.size()) return false;
        const std::size_t last = unit_end(list, first);
        Picoseconds start = free_[r];
        for (std::size_t i = first; i < last; ++i) {
            if (!inputs_ready(list[i], r, start)) return false;
        }
        for (std::size_t i = first; i < last; ++i) {
            run_.start[r][i] = start;
            start += duration(costs_.stages[list[i].stage], list[i].pass);
            run_.end[r][i] = start;
        }
        free_[r] = start;
        cursor_[r] = last;
        for (std::size_t i = first; i < last; ++i) publish(list[i], r, start);
        return true;
    }

    /// Makes the output of an action on rank r known, and takes up the rank that consumes it.
    void publish(const Action& a, int r, Picoseconds end) {
        const bool forward = a.pass == Pass::forward;
        if (!forward && !gives_gradient(a.pass)) return;
        (forward ? forward_end_ : gradient_end_)[slot(a.stage, a.microbatch)] = end;
        const int consumer = forward ? a.stage + 1 : a.stage - 1;
        if (consumer < 0 || consumer == schedule_.stages) return;
        const int to = schedule_.rank_of(consumer, a.microbatch);
        if (to == r) return;
        run_.messages.push_back({r, to, consumer, a.microbatch, forward, end});
        if (!queued_[to]) ready_.push_back(to);
        queued_[to] = true;
    }

    Deadlock::Waiting waiting(int r) const {
        const std::vector<Action>& list = schedule_.actions[r];
        Deadlock::Waiting result{r, static_cast<int>(cursor_[r]), list[cursor_[r]], {}};
        for (std::size_t i = cursor_[r]; i < unit_end(list, cursor_[r]); ++i) {
            const bool ready = each_input(list[i], [&](const Action& producer) {
                result.needs = producer;
                return arrival(producer, r) != never;
            });
            if (!ready) break;
        }
        result.needs.pass = spelled_pass(result.needs);
        return result;
    }

    /// The pass by which the schedule gives a gradient: I, or B where the backward is not split.
    Pass spelled_pass(Action producer) const {
        if (producer.pass != Pass::input_grad) return producer.pass;
        producer.pass = Pass::backward;
        const std::vector<Action>& list = schedule_.actions[schedule_.rank_of(producer.stage, producer.microbatch)];
        const bool full = std::any_of(list.begin(), list.end(), [&](Action a) {
            a.fused_with_next = false;
            return a == producer;
        });
        return full ? Pass::backward : Pass::input_grad;
    }

    const Schedule& schedule_;
    const PassCosts& costs_;
    DryRun& run_;
    std::size_t slots_;
    std::vector<Picoseconds> forward_end_;   ///< of (stage, micro-batch): when its activation leaves
    std::vector<Picoseconds> gradient_end_;  ///< of (stage, micro-batch): when its input gradient leaves
    std::vector<std::size_t> cursor_;        ///< per rank, the next action
    std::vector<Picoseconds> free_;          ///< per rank, end of its last action
    std::vector<int> ready_;                 ///< ranks to take up
    std::vector<char> queued_;
};

/// Largest number of activations alive in a rank's list. A rank runs one pass at a time, so counting in list order is
/// counting in time, with releases before acquisitions.
int peak_alive(const std::vector<Action>& list, Pass release) {
    int alive = 0;
    int peak = 0;
    for (const Action& a : list) {
        if (a.pass == Pass::forward) peak = std::max(peak, ++alive);
        if (a.pass == Pass::backward || a.pass == release) --alive;
    }
    return peak;
}

void sort_messages(std::vector<Message>& messages) {
    std::sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) {
        if (a.key != b.key) return a.key < b.key;
        return std::tuple(!a.forward, a.to_stage, a.microbatch) < std::tuple(!b.forward, b.to_stage, b.microbatch);
    });
}

}  // namespace

PassCosts unit_costs(int stages) {
    return {std::vector<StageTimes::Stage>(static_cast<std::size_t>(stages), {1, 1, 1}), 0};
}

Picoseconds longest_rank_span(const DryRun& run) {
    Picoseconds longest = 0;
    for (std::size_t r = 0; r < run.start.size(); ++r) {
        if (!run.start[r].empty()) longest = std::max(longest, run.end[r].back() - run.start[r].front());
    }
    return longest;
}

std::string to_string(const Deadlock& deadlock) {
    std::string text = "deadlock";
    const char* separator = ": ";
    for (const Deadlock::Waiting& w : deadlock.waiting) {
        text += fmt::format("{}rank {} waits at {} for {}", separator, w.rank, to_string(w.action), to_string(w.needs));
        separator = "; ";
    }
    return text;
}

bool dry_run(const Schedule& schedule, const PassCosts& costs, DryRun& run, Deadlock& deadlock) {
    const bool completed = Evaluation(schedule, costs, run).complete(deadlock);
    sort_messages(run.messages);
    for (const std::vector<Action>& list : schedule.actions) {
        run.peak_in_flight.push_back(peak_alive(list, Pass::weight_grad));
        run.peak_in_flight_to_input_grad.push_back(peak_alive(list, Pass::input_grad));
    }
    return completed;
}

DryRun dry_run(const Schedule& schedule, const PassCosts& costs) {
    DryRun run;
    Deadlock deadlock;
    if (!dry_run(schedule, costs, run, deadlock)) throw std::logic_error(schedule.name + ": " + to_string(deadlock));
    return run;
}

}  // namespace foreshard
