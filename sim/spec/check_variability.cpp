#include <algorithm>

#include <fmt/format.h>

#include "sim/spec/check_run.hpp"
#include "sim/spec/data_parallel.hpp"

namespace foreshard {

namespace {

/// Ranks that a plan names must exist.
void check_range(const std::string& field, const std::string& unit, int last, int ranks, Rules& rules) {
    if (last < ranks) return;
    rules.push_back({field, fmt::format("{} {} does not exist, there are {}", unit, last, ranks),
                     fmt::format("0 to {}", ranks - 1)});
}

void check_factors(const Job& job, Rules& rules) {
    for (const SpeedFactor& f : job.plan.variability.speed) {
        if (f.everywhere()) continue;
        check_range(f.pipeline ? "speed_factor, pp" : "speed_factor, gpus", f.pipeline ? "pipeline rank" : "rank",
                    f.last, f.pipeline ? job.plan.pp : job.gpus, rules);
    }
    for (const LinkFactor& f : job.plan.variability.links) {
        if (!f.everywhere()) check_range("link_factor, gpus", "rank", f.last, job.gpus, rules);
    }
}

void check_tp_overlap(const Job& job, Rules& rules) {
    if (!job.plan.tp_comm_overlap) return;
    if (job.plan.tp > 1 && job.plan.sequence_parallel) return;
    rules.push_back({"tp_comm_overlap, tp, sp",
                     "only the all-gather and reduce-scatter of sequence parallelism run under GEMMs",
                     "--sp with tp 2 or more, or leave --tp-comm-overlap out"});
}

/// Their order of events is simulated apart, by a queue of equal learners.
void check_equal_learners(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    if (!uses_parameter_server(plan)) return;
    if (plan.contention == Contention::off && !plan.no_symmetry && ranks_alike(plan.variability)) return;
    rules.push_back({"data_parallel, contention, speed_factor, link_factor, jitter_pct, no_symmetry",
                     fmt::format("{} is a queue of equal learners at one server, without contention or differing ranks",
                                 to_string(plan.data_parallel)),
                     "leave them out, or another --data-parallel"});
}

}  // namespace

void check_variability(const Job& job, Rules& rules) {
    check_factors(job, rules);
    check_tp_overlap(job, rules);
    check_equal_learners(job, rules);
}

}  // namespace foreshard
