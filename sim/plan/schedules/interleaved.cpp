#include <algorithm>

#include "sim/plan/schedule.hpp"

namespace foreshard {

namespace {

struct Turn {
    int chunk = 0;
    int microbatch = 0;
};

/// Order of the forwards on every rank: each group of micro-batches passes chunk 0, then chunk 1, ...
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

std::vector<Action> rank_list(const std::vector<Turn>& turns, int p, int v, int rank, int warmup) {
    const int total = static_cast<int>(turns.size());
    std::vector<Action> list;
    list.reserve(turns.size() * 2);
    const auto forward = [&](int i) {
        list.push_back({turns[i].chunk * p + rank, turns[i].microbatch, Pass::forward});
    };
    for (int i = 0; i < warmup; ++i) forward(i);
    for (int i = 0; i < total; ++i) {
        if (warmup + i < total) forward(warmup + i);
        // Backwards take the same turns with the chunks reversed.
        list.push_back({(v - 1 - turns[i].chunk) * p + rank, turns[i].microbatch, Pass::backward});
    }
    return list;
}

}  // namespace

Schedule interleaved_schedule(int p, int m, int v, int group) {
    // Megatron's formula with one chunk would warm up twice as long as 1F1B.
    if (v == 1) return one_f_one_b_schedule(p, m);
    Schedule schedule{.name = "interleaved-1f1b",
                      .ranks = p,
                      .stages = p * v,
                      .microbatches = m,
                      .chunks = v,
                      .actions = {},
                      .stage_rank = {},
                      .direction = {}};
    schedule.stage_rank = stage_ranks(Placement::loop, p, p * v);
    const std::vector<Turn> turns = forward_turns(m, v, group);
    for (int r = 0; r < p; ++r) {
        const int warmup = std::min(m * v, 2 * (p - 1 - r) + (v - 1) * group);
        schedule.actions.push_back(rank_list(turns, p, v, r, warmup));
    }
    return schedule;
}

}  // namespace foreshard
