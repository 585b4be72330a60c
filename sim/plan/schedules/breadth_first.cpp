#include "sim/plan/schedules.hpp"

namespace foreshard {

Schedule breadth_first_schedule(int p, int m, int v) {
    Schedule schedule = blank_schedule("breadth-first", Placement::loop, p, m, v);
    for (int r = 0; r < p; ++r) {
        std::vector<Action>& list = schedule.actions[r];
        for (int chunk = 0; chunk < v; ++chunk) {
            for (int k = 0; k < m; ++k) list.push_back({chunk * p + r, k, Pass::forward});
        }
        for (int chunk = v - 1; chunk >= 0; --chunk) {
            for (int k = 0; k < m; ++k) list.push_back({chunk * p + r, k, Pass::backward});
        }
    }
    return schedule;
}

}  // namespace foreshard
