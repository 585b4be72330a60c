#include <algorithm>

#include "sim/plan/schedules.hpp"

namespace foreshard {

Schedule pipedream_schedule(int p, int m) {
    Schedule schedule = one_f_one_b_schedule(p, m);
    schedule.name = "pipedream";
    return schedule;
}

Schedule pipedream_2bw_schedule(int p, int m) {
    Schedule schedule = one_f_one_b_schedule(p, m);
    schedule.name = "pipedream-2bw";
    return schedule;
}

int pipedream_version(int p, int rank, int microbatch) {
    return std::max(0, microbatch - (p - 1 - rank));
}

int pipedream_version_synced(int p, int microbatch) {
    return pipedream_version(p, 0, microbatch);
}

int pipedream_2bw_version(int accumulate, int microbatch) {
    return std::max(0, microbatch / accumulate - 1);
}

int pipedream_versions_held(int p, int rank) {
    return p - rank;
}

std::vector<double> pipedream_staleness(int p) {
    // Rank r applies the gradient of micro-batch k to version k, and computed it with version k - (p-1-r).
    std::vector<double> shares(static_cast<std::size_t>(p), 1.0 / p);
    return shares;
}

std::vector<double> pipedream_2bw_staleness() {
    // W(t+1) = W(t) - lr grad(W(t-1)) on every rank.
    return {0.0, 1.0};
}

}  // namespace foreshard
