#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/plan/schedules.hpp"

namespace foreshard {

namespace {

/// Actions of every rank with the slot in which each stands; a rank's slots never coincide.
using Slots = std::vector<std::vector<std::pair<int, Action>>>;

/// One micro-batch on its way down and up through all stages: forwards from `slot` on, one a slot, then backwards.
void add_wave(const Schedule& schedule, int microbatch, int slot, Slots& slots) {
    for (int s = 0; s < schedule.stages; ++s) {
        auto& rank = slots[schedule.rank_of(s, microbatch)];
        rank.push_back({slot + s, {s, microbatch, Pass::forward}});
        rank.push_back({slot + 2 * schedule.stages - 1 - s, {s, microbatch, Pass::backward}});
    }
}

void order_by_slot(Slots& slots, Schedule& schedule) {
    for (std::size_t r = 0; r < slots.size(); ++r) {
        std::sort(slots[r].begin(), slots[r].end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [slot, action] : slots[r]) schedule.actions[r].push_back(action);
    }
}

}  // namespace

Schedule chimera_schedule(int p, int m) {
    assert(p % 2 == 0);
    Schedule schedule = blank_schedule("chimera", Placement::bidirectional, p, m, 2);
    for (int k = 0; k < m; ++k) schedule.direction.push_back(k % p < p / 2 ? 0 : 1);
    Slots slots(static_cast<std::size_t>(p));
    for (int k = 0; k < m; ++k) add_wave(schedule, k, 2 * p * (k / p) + 2 * (k % (p / 2)), slots);
    order_by_slot(slots, schedule);
    return schedule;
}

Schedule hanayo_schedule(int p, int m, int v) {
    assert(v % 2 == 0);
    Schedule schedule = blank_schedule("hanayo", v == 2 ? Placement::v : Placement::snake, p, m, v);
    Slots slots(static_cast<std::size_t>(p));
    for (int k = 0; k < m; ++k) add_wave(schedule, k, 2 * p * v * (k / p) + 2 * (k % p), slots);
    order_by_slot(slots, schedule);
    return schedule;
}

}  // namespace foreshard
