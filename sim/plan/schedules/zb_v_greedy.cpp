#include <algorithm>
#include <deque>
#include <optional>
#include <stdexcept>
#include <utility>

#include "sim/plan/schedules.hpp"

/// Source: sail-sg/zero-bubble-pipeline-parallelism zerobubble/scheduler/zbv.py (arXiv 2401.10241 section 6).
namespace foreshard {

namespace {

constexpr Picoseconds never = -1;

/// One kind of pass on a V: 0 down through the first chunks, 1 back up through the second.
enum Way : int { down = 0, up = 1 };

class VBuilder {
public:
    VBuilder(int p, int m, const StageTimes::Stage& cost, Picoseconds hop, SplitMemory memory, bool fill_forward,
             bool fill_backward, const std::vector<Picoseconds>& approved)
        : p_(p),
          m_(m),
          cost_(cost),
          hop_(hop),
          memory_(memory),
          fill_forward_(fill_forward),
          fill_backward_(fill_backward),
          approved_(approved),
          ranks_(static_cast<std::size_t>(p)) {
        if (!approved_.empty()) max_approved_ = *std::max_element(approved_.begin(), approved_.end());
    }

    void build() {
        warm_up();
        even_out();
        for (int round = 0; round < 2 * m_; ++round) {
            backward_round();
            forward_round();
        }
        for (int r = 0; r < p_; ++r) {
            while (!ranks_[r].pending.empty()) weight_grad(r);
        }
    }

    Picoseconds max_bubble() const {
        Picoseconds most = 0;
        for (const Rank& rank : ranks_) most = std::max(most, rank.bubble);
        return most;
    }
    std::vector<Picoseconds> bubbles() const {
        std::vector<Picoseconds> all;
        for (const Rank& rank : ranks_) all.push_back(rank.bubble);
        return all;
    }
    const std::vector<Action>& actions(int r) const { return ranks_[r].actions; }

private:
    struct Rank {
        std::vector<Action> actions;
        /// Ends of forwards and input gradients, [pass][way]. Gradients come down the second chunks first (way 0).
        std::vector<Picoseconds> end[2][2];
        std::deque<Action> pending;  ///< weight gradients
        Picoseconds now = 0;
        Picoseconds bubble = 0;
        std::int64_t held = 0;  ///< saved tensors
        int count(int pass, int way) const { return static_cast<int>(end[pass][way].size()); }
    };
    static constexpr int forward_pass = 0;
    static constexpr int grad_pass = 1;

    /// Of the pass that must come first on the neighbouring rank; `never` when it has not run, 0 when there is none.
    Picoseconds neighbour_end(int r, int pass, int way, int k) const {
        const int from = way == down ? r - 1 : r + 1;
        if (from < 0 || from >= p_) return 0;
        const auto& ends = ranks_[from].end[pass][way];
        return k < static_cast<int>(ends.size()) ? ends[static_cast<std::size_t>(k)] : never;
    }
    bool has_neighbour(int r, int way) const { return way == down ? r > 0 : r + 1 < p_; }

    void put(int r, int pass, int way) {
        Rank& rank = ranks_[r];
        const int k = rank.count(pass, way);
        if (k >= m_) throw std::logic_error("zb_v_greedy_schedule: a pass beyond the last micro-batch");
        const Picoseconds input = neighbour_end(r, pass, way, k);
        if (input == never) throw std::logic_error("zb_v_greedy_schedule: a pass before its input");
        const Picoseconds ready = has_neighbour(r, way) ? input + hop_ : 0;
        const Picoseconds start = std::max(rank.now, ready);
        if (rank.count(forward_pass, down) > 0) rank.bubble += start - rank.now;
        rank.now = start + (pass == forward_pass ? cost_.forward : cost_.input_grad);
        rank.end[pass][way].push_back(rank.now);
        rank.held += pass == forward_pass ? memory_.forward : -memory_.input_grad;
        const bool second_chunk = (way == up) == (pass == forward_pass);
        const int stage = second_chunk ? 2 * p_ - 1 - r : r;
        rank.actions.push_back({stage, k, pass == forward_pass ? Pass::forward : Pass::input_grad});
        if (pass == grad_pass) rank.pending.push_back({stage, k, Pass::weight_grad});
    }

    void weight_grad(int r) {
        Rank& rank = ranks_[r];
        rank.actions.push_back(rank.pending.front());
        rank.pending.pop_front();
        rank.now += cost_.weight_grad;
        rank.held -= memory_.weight_grad;
    }

    std::int64_t limit() const { return std::int64_t{2} * p_ * memory_.forward; }

    void make_room(int r, std::int64_t needed) {
        while (ranks_[r].held + needed > limit()) {
            if (ranks_[r].pending.empty()) throw std::logic_error("zb_v_greedy_schedule: no room");
            weight_grad(r);
        }
    }

    void warm_up() {
        for (int r = 0; r < p_; ++r) put(r, forward_pass, down);
        put(p_ - 1, forward_pass, up);
        for (int r = p_ - 2; r >= 0; --r) {
            const Picoseconds arrival = ranks_[r + 1].end[forward_pass][up].front() + hop_;
            while (ranks_[r].held + memory_.forward * (2 + 2 * r) <= limit() &&
                   ranks_[r].now + cost_.forward <= arrival && ranks_[r].count(forward_pass, down) < m_) {
                for (int j = 0; j <= r; ++j) put(j, forward_pass, down);
            }
            put(r, forward_pass, up);
        }
    }

    /// Later ranks catch up to as many forwards as the rank before them.
    void even_out() {
        int way = down;
        for (int r = 1; r < p_; ++r) {
            while (lags(r)) {
                for (int j = p_ - 1; j >= r; --j) {
                    if (ranks_[j].count(forward_pass, way) < m_) put(j, forward_pass, way);
                }
                way = 1 - way;
            }
        }
    }

    bool lags(int r) const {
        const Rank& before = ranks_[r - 1];
        const int mine = ranks_[r].count(forward_pass, up);
        const int others = before.count(forward_pass, up);
        const int sum = ranks_[r].count(forward_pass, down) + mine;
        return sum < before.count(forward_pass, down) + others || (mine <= others && others < m_);
    }

    int backward_way(int r) const {
        const int first = ranks_[r].count(grad_pass, down);
        const int second = ranks_[r].count(grad_pass, up);
        if (second >= first) return down;
        if (r == p_ - 1) return up;
        return neighbour_end(r, grad_pass, up, second) != never || first >= m_ ? up : down;
    }

    void backward_round() {
        for (int r = 0; r < p_; ++r) make_room(r, -memory_.input_grad);
        std::vector<int> ways;
        ways.reserve(static_cast<std::size_t>(p_));
        for (int r = 0; r < p_; ++r) ways.push_back(backward_way(r));
        for (int r = p_ - 1; r >= 0; --r) {
            if (ways[r] == up) backward(r, up);
        }
        for (int r = 0; r < p_; ++r) {
            if (ways[r] == down) backward(r, down);
        }
    }

    void backward(int r, int way) {
        const bool waits = has_neighbour(r, way);
        const Picoseconds input = waits ? neighbour_end(r, grad_pass, way, ranks_[r].count(grad_pass, way)) : never;
        fill_gap(r, input, way == up || fill_backward_);
        put(r, grad_pass, way);
    }

    std::optional<int> forward_way(int r) const {
        const int first = ranks_[r].count(forward_pass, down);
        const int second = ranks_[r].count(forward_pass, up);
        if (second >= m_) return std::nullopt;
        if (second >= first) return down;
        if (r == p_ - 1) return up;
        if (neighbour_end(r, forward_pass, up, second) != never) return up;
        if (first < m_ && (r == 0 || neighbour_end(r, forward_pass, down, first) != never)) return down;
        return std::nullopt;
    }

    void forward_round() {
        for (int r = 0; r < p_; ++r) {
            const std::optional<int> way = forward_way(r);
            if (!way) continue;
            make_room(r, memory_.forward);
            const bool waits = has_neighbour(r, *way);
            const int k = ranks_[r].count(forward_pass, *way);
            fill_gap(r, waits ? neighbour_end(r, forward_pass, *way, k) : never, fill_forward_);
            put(r, forward_pass, *way);
        }
    }

    /// @param input end of the pass that is waited for, or `never`
    void fill_gap(int r, Picoseconds input, bool fill) {
        Rank& rank = ranks_[r];
        while (!rank.pending.empty() && input >= 0 && input + hop_ >= rank.now + cost_.weight_grad) weight_grad(r);
        const Picoseconds gap = input + hop_ - rank.now;
        if (rank.pending.empty() || !fill) return;
        if (gap > tolerated(r) - rank.bubble) weight_grad(r);
    }

    Picoseconds tolerated(int r) const {
        return approved_.empty() ? max_bubble() : std::max(max_bubble(), max_approved_ - approved_[r]);
    }

    int p_;
    int m_;
    StageTimes::Stage cost_;
    Picoseconds hop_;
    SplitMemory memory_;
    bool fill_forward_;
    bool fill_backward_;
    const std::vector<Picoseconds>& approved_;
    Picoseconds max_approved_ = 0;
    std::vector<Rank> ranks_;
};

StageTimes::Stage mean_cost(const PassCosts& costs) {
    StageTimes::Stage mean;
    for (const StageTimes::Stage& stage : costs.stages) {
        mean.forward += stage.forward;
        mean.input_grad += stage.input_grad;
        mean.weight_grad += stage.weight_grad;
    }
    const auto count = static_cast<Picoseconds>(costs.stages.size());
    return {mean.forward / count, mean.input_grad / count, mean.weight_grad / count};
}

/// Keeps the list with the smallest bubble in `schedule`. What one pass could not avoid, the next may accept on every
/// rank; repeated while that helps.
void improve(Schedule& schedule, std::optional<Picoseconds>& best, const StageTimes::Stage& cost, Picoseconds hop,
             SplitMemory memory, bool fill_forward, bool fill_backward) {
    std::vector<Picoseconds> approved;
    for (std::optional<Picoseconds> last;;) {
        VBuilder builder(schedule.ranks, schedule.microbatches, cost, hop, memory, fill_forward, fill_backward,
                         approved);
        builder.build();
        if (last && builder.max_bubble() >= *last) return;
        last = builder.max_bubble();
        if (!best || *last < *best) {
            best = last;
            for (int r = 0; r < schedule.ranks; ++r) schedule.actions[r] = builder.actions(r);
        }
        approved = builder.bubbles();
    }
}

}  // namespace

Schedule zb_v_greedy_schedule(int p, int m, const PassCosts& costs, SplitMemory memory) {
    Schedule schedule = blank_schedule("zb-v", Placement::v, p, m, 2);
    const StageTimes::Stage cost = mean_cost(costs);
    std::optional<Picoseconds> best;
    for (const bool fill_backward : {true, false}) {
        for (const bool fill_forward : {true, false}) {
            improve(schedule, best, cost, costs.hop, memory, fill_forward, fill_backward);
        }
    }
    return schedule;
}

Schedule zb_v_schedule(int p, int m, const PassCosts& costs, SplitMemory memory) {
    Schedule best = zb_v_handmade_schedule(p, m);
    const auto figures = [&](const DryRun& run) { return std::pair(run.makespan, longest_rank_span(run)); };
    auto shortest = figures(dry_run(best, costs));
    for (const PassCosts& wanted : {costs, unit_costs(2 * p)}) {
        Schedule greedy = zb_v_greedy_schedule(p, m, wanted, memory);
        const DryRun run = dry_run(greedy, costs);
        const int peak = *std::max_element(run.peak_in_flight.begin(), run.peak_in_flight.end());
        if (peak > 2 * p || figures(run) >= shortest) continue;
        shortest = figures(run);
        best = std::move(greedy);
    }
    return best;
}

}  // namespace foreshard
