#include "sim/plan/schedule.hpp"

namespace foreshard {

Schedule gradient_accumulation(int m) {
    Schedule schedule = naive_schedule(1, m);
    schedule.name = "none";
    return schedule;
}

}  // namespace foreshard
