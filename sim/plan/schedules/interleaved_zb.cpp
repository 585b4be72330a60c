#include <algorithm>

#include "sim/plan/schedules.hpp"
#include "sim/plan/schedules/turns.hpp"

namespace foreshard {

namespace {

/// `warmup` forwards, then pairs of F and I; W follows in the order of the Is, `delay` of them later.
std::vector<Action> split_list(const std::vector<Turn>& turns, int p, int v, int rank, int warmup, int delay) {
    const int total = static_cast<int>(turns.size());
    std::vector<Action> list;
    list.reserve(3 * turns.size());
    const auto forward = [&](int i) {
        list.push_back({turns[i].chunk * p + rank, turns[i].microbatch, Pass::forward});
    };
    const auto backward = [&](int i, Pass pass) {
        list.push_back({(v - 1 - turns[i].chunk) * p + rank, turns[i].microbatch, pass});
    };
    for (int i = 0; i < warmup; ++i) forward(i);
    for (int i = 0; i < total; ++i) {
        if (warmup + i < total) forward(warmup + i);
        backward(i, Pass::input_grad);
        if (i >= delay) backward(i - delay, Pass::weight_grad);
    }
    for (int i = std::max(total - delay, 0); i < total; ++i) backward(i, Pass::weight_grad);
    return list;
}

}  // namespace

int torch_group_size(int p, int m) {
    return m / std::max(1, m / p);
}

Schedule interleaved_zb_schedule(int p, int m, int v, int group) {
    Schedule schedule = blank_schedule("interleaved-zb", v > 1 ? Placement::loop : Placement::linear, p, m, v);
    const std::vector<Turn> turns = forward_turns(m, v, group);
    for (int r = 0; r < p; ++r) {
        const int warmup = std::min(m * v, (v - 1) * group + p - 1 - r);
        schedule.actions[r] = split_list(turns, p, v, r, warmup, r);
    }
    return schedule;
}

Schedule zb_h1_schedule(int p, int m) {
    Schedule schedule = interleaved_zb_schedule(p, m, 1, m);
    schedule.name = "zb-h1";
    return schedule;
}

Schedule zb_h2_schedule(int p, int m) {
    Schedule schedule = blank_schedule("zb-h2", Placement::linear, p, m, 1);
    const std::vector<Turn> turns = forward_turns(m, 1, m);
    for (int r = 0; r < p; ++r) {
        schedule.actions[r] = split_list(turns, p, 1, r, std::min(m, 2 * (p - 1 - r)), 2 * r);
    }
    return schedule;
}

}  // namespace foreshard
