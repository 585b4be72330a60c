#include <cassert>
#include <deque>

#include "sim/plan/schedules.hpp"

/// Source: deepseek-ai/DualPipe dualpipe/dualpipe.py and dualpipev.py, step().
namespace foreshard {

namespace {

/// Writes one rank's list. Its two kinds of work, "near" and "far", are directions (DualPipe) or chunks (DualPipeV).
class RankWriter {
public:
    RankWriter(std::vector<Action>& list, std::vector<Action> near, std::vector<Action> far)
        : list_(list), queue_{std::move(near), std::move(far)} {}

    void forward(int kind) { list_.push_back(next(kind, next_forward_[kind]++, Pass::forward)); }
    void backward(int kind, bool split = false) {
        list_.push_back(next(kind, next_backward_[kind]++, split ? Pass::input_grad : Pass::backward));
        if (split) weights_.push_back(list_.back());
    }
    void weight() {
        Action action = weights_.front();
        weights_.pop_front();
        action.pass = Pass::weight_grad;
        list_.push_back(action);
    }
    void pair(int forward_kind, int backward_kind) {
        forward(forward_kind);
        list_.back().fused_with_next = true;
        backward(backward_kind);
    }

    /// @param inner ranks between this one and the middle, 0 for the middle rank
    /// @param outer ranks between this one and the outer end
    /// @param steady rounds of two fused pairs
    void write(int inner, int outer, int steady) {
        for (int i = 0; i < 2 * inner; ++i) forward(0);
        for (int i = 0; i <= outer; ++i) {
            forward(0);
            forward(1);
        }
        for (int i = 0; i < inner; ++i) {
            backward(1, true);
            weight();
            forward(1);
        }
        for (int i = 0; i < steady; ++i) write_round(i == 0 && inner == 0);
        for (int i = 0; i < inner; ++i) {
            backward(1);
            pair(1, 0);
        }
        write_cooldown(outer);
        for (int i = 0; i < inner; ++i) {
            weight();
            backward(0, true);
        }
        for (int i = 0; i <= outer; ++i) weight();
    }

private:
    Action next(int kind, int index, Pass pass) const {
        Action action = queue_[kind][static_cast<std::size_t>(index)];
        action.pass = pass;
        return action;
    }

    /// The first pair of a middle rank is not fused: its forward's output is waited for.
    void write_round(bool apart) {
        if (apart) {
            forward(0);
            backward(1);
        } else {
            pair(0, 1);
        }
        pair(1, 0);
    }

    void write_cooldown(int outer) {
        bool split = false;
        for (int i = 0; i <= outer; ++i) {
            const bool middle = i == (outer + 1) / 2;
            if (middle && outer % 2 == 1) split = true;
            backward(1, split);
            if (middle && outer % 2 == 0) split = true;
            backward(0, split);
        }
    }

    std::vector<Action>& list_;
    std::vector<Action> queue_[2];
    int next_forward_[2] = {0, 0};
    int next_backward_[2] = {0, 0};
    std::deque<Action> weights_;
};

std::vector<Action> microbatches(int stage, int first, int count) {
    std::vector<Action> queue;
    for (int k = first; k < first + count; ++k) queue.push_back({stage, k, Pass::forward});
    return queue;
}

}  // namespace

Schedule dualpipe_schedule(int p, int m) {
    assert(p % 2 == 0 && m % 2 == 0);
    Schedule schedule = blank_schedule("dualpipe", Placement::bidirectional, p, m, 2);
    for (int k = 0; k < m; ++k) schedule.direction.push_back(k < m / 2 ? 0 : 1);
    for (int r = 0; r < p; ++r) {
        const bool second = r >= p / 2;
        const int outer = second ? p - 1 - r : r;
        // Stage r in direction 0, stage p-1-r in direction 1; near is the direction that enters on this half.
        RankWriter writer(schedule.actions[r], microbatches(outer, second ? m / 2 : 0, m / 2),
                          microbatches(p - 1 - outer, second ? 0 : m / 2, m / 2));
        writer.write(p / 2 - outer - 1, outer, m / 2 - p + outer + 1);
    }
    return schedule;
}

Schedule dualpipe_v_schedule(int p, int m) {
    Schedule schedule = blank_schedule("dualpipe-v", Placement::v, p, m, 2);
    for (int r = 0; r < p; ++r) {
        RankWriter writer(schedule.actions[r], microbatches(r, 0, m), microbatches(2 * p - 1 - r, 0, m));
        writer.write(p - r - 1, r, m - 2 * p + r + 1);
    }
    return schedule;
}

}  // namespace foreshard
