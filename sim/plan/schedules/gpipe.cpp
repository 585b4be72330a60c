#include "sim/plan/schedule.hpp"

namespace foreshard {

Schedule gpipe_schedule(int p, int m) {
    Schedule schedule{
        .name = "gpipe", .ranks = p, .stages = p, .microbatches = m, .actions = {}, .stage_rank = {}, .direction = {}};
    schedule.stage_rank = stage_ranks(Placement::linear, p, p);
    schedule.actions.resize(static_cast<std::size_t>(p));
    for (int r = 0; r < p; ++r) {
        std::vector<Action>& list = schedule.actions[r];
        list.reserve(2 * static_cast<std::size_t>(m));
        for (int k = 0; k < m; ++k) list.push_back({r, k, Pass::forward});
        for (int k = 0; k < m; ++k) list.push_back({r, k, Pass::backward});
    }
    return schedule;
}

}  // namespace foreshard
