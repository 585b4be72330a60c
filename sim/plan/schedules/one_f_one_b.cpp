#include <algorithm>

#include "sim/plan/schedule.hpp"

namespace foreshard {

Schedule one_f_one_b_schedule(int p, int m) {
    Schedule schedule{
        .name = "1f1b", .ranks = p, .stages = p, .microbatches = m, .actions = {}, .stage_rank = {}, .direction = {}};
    schedule.stage_rank = stage_ranks(Placement::linear, p, p);
    schedule.actions.resize(static_cast<std::size_t>(p));
    for (int r = 0; r < p; ++r) {
        std::vector<Action>& list = schedule.actions[r];
        list.reserve(2 * static_cast<std::size_t>(m));
        const int warmup = std::min(m, p - 1 - r);
        for (int k = 0; k < warmup; ++k) list.push_back({r, k, Pass::forward});
        for (int k = 0; k < m; ++k) {
            if (warmup + k < m) list.push_back({r, warmup + k, Pass::forward});
            list.push_back({r, k, Pass::backward});
        }
    }
    return schedule;
}

}  // namespace foreshard
