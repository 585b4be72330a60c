#include <algorithm>

#include "sim/plan/schedules.hpp"
#include "sim/plan/schedules/turns.hpp"

namespace foreshard {

std::vector<Turn> forward_turns(int m, int v, int group) {
    std::vector<Turn> turns;
    turns.reserve(static_cast<std::size_t>(m) * v);
    for (int first = 0; first < m; first += group) {
        for (int chunk = 0; chunk < v; ++chunk) {
            for (int k = first; k < std::min(m, first + group); ++k) turns.push_back({chunk, k});
        }
    }
    return turns;
}

namespace {

/// @param fused whether a pair's F and B are one unit
std::vector<Action> rank_list(const std::vector<Turn>& turns, int p, int v, int rank, int warmup, bool fused) {
    const int total = static_cast<int>(turns.size());
    std::vector<Action> list;
    list.reserve(turns.size() * 2);
    const auto forward = [&](int i) {
        list.push_back({turns[i].chunk * p + rank, turns[i].microbatch, Pass::forward});
    };
    for (int i = 0; i < warmup; ++i) forward(i);
    for (int i = 0; i < total; ++i) {
        if (warmup + i < total) {
            forward(warmup + i);
            list.back().fused_with_next = fused;
        }
        // Backwards take the same turns with the chunks reversed.
        list.push_back({(v - 1 - turns[i].chunk) * p + rank, turns[i].microbatch, Pass::backward});
    }
    return list;
}

Schedule interleaved(int p, int m, int v, int group, bool fused) {
    Schedule schedule = blank_schedule("interleaved-1f1b", v > 1 ? Placement::loop : Placement::linear, p, m, v);
    const std::vector<Turn> turns = forward_turns(m, v, group);
    for (int r = 0; r < p; ++r) {
        const int warmup = 2 * (p - 1 - r) + (v - 1) * group + (fused ? 1 : 0);
        schedule.actions[r] = rank_list(turns, p, v, r, std::min(m * v, warmup), fused);
    }
    return schedule;
}

}  // namespace

Schedule interleaved_schedule(int p, int m, int v, int group) {
    // Megatron's formula with one chunk would warm up twice as long as 1F1B.
    if (v == 1) return one_f_one_b_schedule(p, m);
    return interleaved(p, m, v, group, false);
}

Schedule torch_interleaved_schedule(int p, int m, int v, int group) {
    return interleaved(p, m, v, group, false);
}

Schedule overlapped_interleaved_schedule(int p, int m, int v, int group) {
    return interleaved(p, m, v, group, true);
}

}  // namespace foreshard
