#include <algorithm>

#include "sim/plan/schedules.hpp"

namespace foreshard {

Schedule blank_schedule(const char* name, Placement placement, int p, int m, int chunks) {
    Schedule schedule;
    schedule.name = name;
    schedule.ranks = p;
    schedule.microbatches = m;
    schedule.chunks = chunks;
    schedule.actions.resize(static_cast<std::size_t>(p));
    if (placement != Placement::bidirectional) {
        schedule.stages = p * chunks;
        schedule.stage_rank = stage_ranks(placement, p, schedule.stages);
        return schedule;
    }
    schedule.stages = p;
    schedule.stage_rank = stage_ranks(Placement::linear, p, p);
    for (int s = 0; s < p; ++s) schedule.stage_rank.push_back(p - 1 - s);
    return schedule;
}

}  // namespace foreshard
