#include "sim/plan/dry_run.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

namespace foreshard {

namespace {

constexpr Picoseconds never = -1;

Picoseconds duration(const PassCosts& costs, const Action& action) {
    if (action.pass == Pass::vocab_forward) return costs.vocab_forward;
    if (action.pass == Pass::vocab_backward) return costs.vocab_backward;
    const StageTimes::Stage& times = costs.stages[action.stage];
    switch (action.pass) {
        case Pass::forward:
            return times.forward;
        case Pass::backward:
            return times.input_grad + times.weight_grad;
        case Pass::input_grad:
            return times.input_grad;
        case Pass::weight_grad:
            return times.weight_grad;
        case Pass::vocab_forward:
        case Pass::vocab_backward:
            break;
    }
    return 0;
}

/// Which of the tables of ends holds the output of a pass.
std::size_t table_of(Pass pass) {
    switch (pass) {
        case Pass::forward:
            return 0;
        case Pass::backward:
        case Pass::input_grad:
        case Pass::weight_grad:  // gives nothing to others
            return 1;
        case Pass::vocab_forward:
            return 2;
        case Pass::vocab_backward:
            return 3;
    }
    return 0;
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
          cursor_(schedule.actions.size(), 0),
          free_(schedule.actions.size(), 0),
          queued_(schedule.actions.size(), true) {
        ends_.fill(std::vector<Picoseconds>(slots_, never));
        const std::size_t shares = schedule.vocabulary ? schedule.actions.size() * schedule.microbatches : 0;
        for (const Pass pass : {Pass::vocab_forward, Pass::vocab_backward}) {
            ends_[table_of(pass)].assign(shares, never);
        }
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

    Picoseconds& end_of(const Action& a) { return ends_[table_of(a.pass)][slot(a.stage, a.microbatch)]; }

    /// When the output of `producer` reaches rank r; `never` when it is not there yet.
    Picoseconds arrival(const Action& producer, int r) const {
        const Picoseconds end = ends_[table_of(producer.pass)][slot(producer.stage, producer.microbatch)];
        if (end == never) return never;
        // What all ranks put together is on none of them before.
        if (is_vocabulary(producer.pass)) return end + costs_.hop;
        return schedule_.rank_of(producer.stage, producer.microbatch) == r ? end : end + costs_.hop;
    }

    /// Calls use(producer) for the vocabulary pass of every rank; stops and returns false when it does.
    template <class Use>
    bool each_rank(Pass pass, int microbatch, Use use) const {
        for (int r = 0; r < static_cast<int>(schedule_.actions.size()); ++r) {
            if (!use(Action{r, microbatch, pass})) return false;
        }
        return true;
    }

    /// The gradient that a stage's backward starts from.
    template <class Use>
    bool each_gradient(const Action& a, Use use) const {
        if (a.stage + 1 < schedule_.stages) return use(Action{a.stage + 1, a.microbatch, Pass::input_grad});
        if (!schedule_.vocabulary) return true;
        const bool early = schedule_.vocabulary == VocabularySplit::one_barrier;
        return each_rank(early ? Pass::vocab_forward : Pass::vocab_backward, a.microbatch, use);
    }

    /// Calls use(producer) for every input of the action; stops and returns false when it does.
    template <class Use>
    bool each_input(const Action& a, Use use) const {
        switch (a.pass) {
            case Pass::forward:
                return a.stage == 0 || use(Action{a.stage - 1, a.microbatch, Pass::forward});
            case Pass::backward:
            case Pass::input_grad:
                return use(Action{a.stage, a.microbatch, Pass::forward}) && each_gradient(a, use);
            case Pass::weight_grad:
                return use(Action{a.stage, a.microbatch, Pass::input_grad});
            case Pass::vocab_forward:
                return use(Action{schedule_.stages - 1, a.microbatch, Pass::forward});
            case Pass::vocab_backward:
                return each_rank(Pass::vocab_forward, a.microbatch, use);
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
            start += duration(costs_, list[i]);
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
        if (a.pass == Pass::weight_grad) return;
        end_of(a) = end;
        if (is_vocabulary(a.pass) || (forward && schedule_.vocabulary && a.stage + 1 == schedule_.stages)) {
            meet(a);
            return;
        }
        const int consumer = forward ? a.stage + 1 : a.stage - 1;
        if (consumer < 0 || consumer == schedule_.stages) return;
        const int to = schedule_.rank_of(consumer, a.microbatch);
        if (to == r) return;
        run_.messages.push_back({r, to, consumer, a.microbatch, forward, end});
        take_up(to);
    }

    void take_up(int rank) {
        if (!queued_[rank]) ready_.push_back(rank);
        queued_[rank] = true;
    }

    /// Ranks meet after the last stage's forward, and when all have run S, or T.
    void meet(const Action& a) {
        Picoseconds last = end_of(a);
        const bool complete = a.pass == Pass::forward || each_rank(a.pass, a.microbatch, [&](const Action& producer) {
                                  const Picoseconds end = end_of(producer);
                                  last = std::max(last, end);
                                  return end != never;
                              });
        if (!complete) return;
        for (int r = 0; r < static_cast<int>(cursor_.size()); ++r) take_up(r);
        const bool no_gradient = schedule_.vocabulary == VocabularySplit::one_barrier;
        if (a.pass == Pass::vocab_backward && no_gradient) return;
        run_.meetings.push_back({meeting_kind(a.pass), a.microbatch, last});
    }

    static Meeting::Kind meeting_kind(Pass pass) {
        if (pass == Pass::forward) return Meeting::Kind::hidden_state;
        return pass == Pass::vocab_forward ? Meeting::Kind::logits : Meeting::Kind::gradient;
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
    /// Of (stage, micro-batch): when its activation and its input gradient leave; of (rank, micro-batch): S and T.
    std::array<std::vector<Picoseconds>, 4> ends_;
    std::vector<std::size_t> cursor_;  ///< per rank, the next action
    std::vector<Picoseconds> free_;    ///< per rank, end of its last action
    std::vector<int> ready_;           ///< ranks to take up
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

void sort_meetings(std::vector<Meeting>& meetings) {
    std::sort(meetings.begin(), meetings.end(), [](const Meeting& a, const Meeting& b) {
        return std::tuple(a.key, a.microbatch, a.kind) < std::tuple(b.key, b.microbatch, b.kind);
    });
}

}  // namespace

PassCosts unit_costs(int stages) {
    return {std::vector<StageTimes::Stage>(static_cast<std::size_t>(stages), {1, 1, 1}), 0, 1, 1};
}

Picoseconds longest_rank_span(const DryRun& run) {
    Picoseconds longest = 0;
    for (std::size_t r = 0; r < run.start.size(); ++r) {
        if (!run.start[r].empty()) longest = std::max(longest, run.end[r].back() - run.start[r].front());
    }
    return longest;
}

PassCosts without_zeros(PassCosts costs) {
    const auto lift = [](Picoseconds& time) { time = std::max(time, Picoseconds{1}); };
    for (StageTimes::Stage& stage : costs.stages) {
        lift(stage.forward);
        lift(stage.input_grad);
        lift(stage.weight_grad);
    }
    lift(costs.vocab_forward);
    lift(costs.vocab_backward);
    return costs;
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
    sort_meetings(run.meetings);
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
