#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "sim/plan/schedules.hpp"

/// Source: sail-sg/zero-bubble-pipeline-parallelism zerobubble/scheduler/zb.py (arXiv 2401.10241 section 3.1).
namespace foreshard {

namespace {

/// Choices of the heuristic; all eight combinations are tried.
struct Variant {
    bool overshoot = false;     ///< warm-up forwards may end after the first input gradient could have started
    bool prefer_grads = false;  ///< a forward is left out of a round when the next rank lags and would not use it
    bool greedy = false;        ///< an idle gap takes a W even when the rank has bubbles to spare
};

class ZbBuilder {
public:
    ZbBuilder(int p, int m, const PassCosts& costs, int limit, SplitMemory memory, Variant variant)
        : p_(p), m_(m), costs_(costs), limit_(limit * memory.forward), memory_(memory), variant_(variant), ranks_(p) {
        for (Rank& rank : ranks_) {
            rank.forward_end.reserve(static_cast<std::size_t>(m));
            rank.input_end.reserve(static_cast<std::size_t>(m));
        }
    }

    void build() {
        warm_up();
        for (int k = 1; k < m_; ++k) {
            add_forwards();
            add_input_grads(k);
        }
        for (int r = 0; r < p_; ++r) flush(r);
    }

    std::vector<Action> take_actions(int r) { return std::move(ranks_[r].actions); }

private:
    struct Rank {
        std::vector<Action> actions;
        std::vector<Picoseconds> forward_end;
        std::vector<Picoseconds> input_end;
        int weights = 0;
        Picoseconds now = 0;
        Picoseconds bubble = 0;  ///< idle time since its first forward
        std::int64_t held = 0;   ///< saved tensors
        int forwards() const { return static_cast<int>(forward_end.size()); }
        int inputs() const { return static_cast<int>(input_end.size()); }
        bool has_weight() const { return weights < inputs(); }
    };

    const StageTimes::Stage& cost(int r) const { return costs_.stages[static_cast<std::size_t>(r)]; }

    /// Starts a pass when the rank is free and its input is there.
    Picoseconds run(int r, int k, Pass pass, Picoseconds input, Picoseconds duration) {
        Rank& rank = ranks_[r];
        const Picoseconds start = std::max(rank.now, input);
        if (!rank.actions.empty()) {
            rank.bubble += start - rank.now;
            max_bubble_ = std::max(max_bubble_, rank.bubble);
        }
        rank.actions.push_back({r, k, pass});
        rank.now = start + duration;
        return rank.now;
    }

    Picoseconds forward_input(int r, int k) const { return r > 0 ? ranks_[r - 1].forward_end[k] + costs_.hop : 0; }
    Picoseconds grad_input(int r, int k) const { return r + 1 < p_ ? ranks_[r + 1].input_end[k] + costs_.hop : 0; }

    void forward(int r) {
        Rank& rank = ranks_[r];
        const int k = rank.forwards();
        rank.held += memory_.forward;
        rank.forward_end.push_back(run(r, k, Pass::forward, forward_input(r, k), cost(r).forward));
    }
    void input_grad(int r) {
        Rank& rank = ranks_[r];
        const int k = rank.inputs();
        rank.held -= memory_.input_grad;
        rank.input_end.push_back(run(r, k, Pass::input_grad, grad_input(r, k), cost(r).input_grad));
    }
    void weight_grad(int r) {
        Rank& rank = ranks_[r];
        rank.held -= memory_.weight_grad;
        run(r, rank.weights, Pass::weight_grad, 0, cost(r).weight_grad);
        ++rank.weights;
    }
    void flush(int r) {
        while (ranks_[r].has_weight()) weight_grad(r);
    }

    /// Forwards that fit into memory and before the first input gradient can arrive; fewer on every later rank.
    void warm_up() {
        for (int r = 0; r < p_; ++r) forward(r);
        std::vector<int> extra(static_cast<std::size_t>(p_), 0);
        Picoseconds grad_end = ranks_[p_ - 1].now + cost(p_ - 1).input_grad;
        for (int r = p_ - 2; r >= 0; --r) extra[r] = warm_up_forwards(r, grad_end);
        for (int r = 1; r < p_; ++r) {
            extra[r] = std::min(extra[r], extra[r - 1]);
            if (extra[r] > 0 && extra[r] == extra[r - 1] && ranks_[r].forwards() + extra[r] < m_) --extra[r];
        }
        for (int r = 0; r < p_; ++r) {
            for (int i = 0; i < extra[r]; ++i) forward(r);
        }
        for (int r = p_ - 1; r >= 0; --r) input_grad(r);
    }

    /// @param grad_end when the next rank's first input gradient ends; becomes this rank's
    int warm_up_forwards(int r, Picoseconds& grad_end) const {
        const Picoseconds arrival = grad_end + costs_.hop;
        const Picoseconds each = cost(r).forward;
        std::int64_t held = ranks_[r].held;
        Picoseconds now = ranks_[r].now;
        int count = 0;
        while (ranks_[r].forwards() + count < m_ && held + memory_.forward <= limit_) {
            if (variant_.overshoot ? now + each > arrival : now >= arrival) break;
            held += memory_.forward;
            now += each;
            ++count;
        }
        grad_end = std::max(now, arrival) + cost(r).input_grad;
        return count;
    }

    /// One forward on every rank that has one and wants it; a rank without one keeps those before it from theirs.
    void add_forwards() {
        std::vector<bool> wanted(static_cast<std::size_t>(p_));
        for (int r = 0; r < p_; ++r) wanted[r] = ranks_[r].forwards() < m_ && !may_wait(r);
        for (int r = p_ - 2; r >= 0; --r) wanted[r] = wanted[r] && wanted[r + 1];
        for (int r = 0; r < p_; ++r) {
            if (!wanted[r]) continue;
            make_room(r, memory_.forward);
            if (r > 0) fill_gap(r, forward_input(r, ranks_[r].forwards()));
            forward(r);
        }
    }

    void add_input_grads(int k) {
        for (int r = p_ - 1; r >= 0; --r) {
            make_room(r, -memory_.input_grad);
            if (r + 1 < p_) fill_gap(r, grad_input(r, k));
            if (r == 0 && ranks_[r].forwards() == m_) flush(r);
            input_grad(r);
        }
    }

    /// Whether leaving a forward out costs the next rank nothing: it is two behind and busy until then.
    bool may_wait(int r) const {
        if (!variant_.prefer_grads || r + 1 >= p_) return false;
        const Rank& rank = ranks_[r];
        const Rank& next = ranks_[r + 1];
        if (rank.forwards() < next.forwards() + 2) return false;
        const Picoseconds next_free = next.now + cost(r + 1).forward + cost(r + 1).input_grad + costs_.hop;
        if (rank.now >= next_free) return true;
        std::int64_t held = rank.held + memory_.forward;
        Picoseconds weights = 0;
        for (int w = rank.weights; held > limit_ && w < rank.inputs(); ++w) {
            held -= memory_.weight_grad;
            weights += cost(r).weight_grad;
        }
        if (rank.now + cost(r).forward + weights <= next_free) return false;
        return next_free - rank.now <= max_bubble_ - rank.bubble;
    }

    void make_room(int r, std::int64_t needed) {
        while (ranks_[r].held + needed > limit_) {
            if (!ranks_[r].has_weight()) throw std::logic_error("zb_auto_schedule: saved tensors exceed the limit");
            weight_grad(r);
        }
    }

    /// Weight gradients that fit before the input arrives, and one more where the bubble is worth it.
    void fill_gap(int r, Picoseconds arrival) {
        const Rank& rank = ranks_[r];
        while (rank.has_weight() && rank.now + cost(r).weight_grad <= arrival) weight_grad(r);
        if (!rank.has_weight() || rank.now >= arrival) return;
        const bool tolerable = arrival - rank.now <= max_bubble_ - rank.bubble;
        if (!tolerable || variant_.greedy) weight_grad(r);
    }

    int p_;
    int m_;
    const PassCosts& costs_;
    std::int64_t limit_;
    SplitMemory memory_;
    Variant variant_;
    std::vector<Rank> ranks_;
    Picoseconds max_bubble_ = 0;
};

}  // namespace

namespace {

/// Most saved tensors on any rank.
std::int64_t peak_held(const Schedule& schedule, SplitMemory memory) {
    std::int64_t peak = 0;
    for (const std::vector<Action>& list : schedule.actions) {
        std::int64_t held = 0;
        for (const Action& action : list) {
            if (action.pass == Pass::forward) held += memory.forward;
            if (action.pass == Pass::input_grad) held -= memory.input_grad;
            if (action.pass == Pass::weight_grad) held -= memory.weight_grad;
            peak = std::max(peak, held);
        }
    }
    return peak;
}

struct Candidate {
    Schedule schedule;
    Picoseconds span = 0;
    Picoseconds makespan = 0;
    std::int64_t peak = 0;
};

/// The variants for one set of costs.
std::vector<Schedule> variants(const char* name, int p, int m, const PassCosts& costs, int limit, SplitMemory memory) {
    std::vector<Schedule> all;
    for (const bool overshoot : {false, true}) {
        for (const bool prefer_grads : {true, false}) {
            for (const bool greedy : {true, false}) {
                ZbBuilder builder(p, m, costs, limit, memory, {overshoot, prefer_grads, greedy});
                builder.build();
                all.push_back(blank_schedule(name, Placement::linear, p, m, 1));
                for (int r = 0; r < p; ++r) all.back().actions[r] = builder.take_actions(r);
            }
        }
    }
    return all;
}

}  // namespace

Schedule zb_auto_schedule(const char* name, int p, int m, const PassCosts& costs, int limit, SplitMemory memory) {
    std::vector<Candidate> all;
    for (const PassCosts& wanted : {costs, unit_costs(p)}) {
        for (Schedule& schedule : variants(name, p, m, wanted, limit, memory)) {
            const DryRun run = dry_run(schedule, costs);
            const std::int64_t peak = peak_held(schedule, memory);
            all.push_back({std::move(schedule), longest_rank_span(run), run.makespan, peak});
        }
    }
    const auto shorter = [](const Candidate& a, const Candidate& b) { return a.span < b.span; };
    const Picoseconds shortest = std::min_element(all.begin(), all.end(), shorter)->span;
    // A thousandth of the span is less than the times are known by: there memory decides.
    std::erase_if(all, [&](const Candidate& c) { return c.span > shortest + shortest / 1000; });
    const auto smaller = [](const Candidate& a, const Candidate& b) {
        return std::tuple(a.peak, a.span, a.makespan) < std::tuple(b.peak, b.span, b.makespan);
    };
    return std::move(std::min_element(all.begin(), all.end(), smaller)->schedule);
}

Schedule zb_1p_schedule(int p, int m, const PassCosts& costs, SplitMemory memory) {
    return zb_auto_schedule("zb-1p", p, m, costs, p, memory);
}

Schedule zb_2p_schedule(int p, int m, const PassCosts& costs, SplitMemory memory) {
    return zb_auto_schedule("zb-2p", p, m, costs, 2 * p, memory);
}

}  // namespace foreshard
