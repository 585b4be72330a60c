#include "sim/cost/rank_waits.hpp"

#include "sim/spec/calibration.hpp"
#include "sim/spec/data_parallel.hpp"

namespace foreshard {

namespace {

/// Of a rank in a step, mean over ranks.
struct Computing {
    double passes = 0.0;
    Seconds time;
};

Picoseconds computed(const WorkDuration& work) {
    return work.spent[static_cast<std::size_t>(Spent::compute)] +
           work.spent[static_cast<std::size_t>(Spent::recompute)];
}

Computing computing_of(const TaskGraph& graph, const std::vector<WorkDuration>& works) {
    Picoseconds sum = 0;
    std::int64_t passes = 0;
    for (const Task& task : graph.tasks) {
        if (task.kind != TaskKind::pass) continue;
        sum += computed(works[static_cast<std::size_t>(task.work)]);
        ++passes;
    }
    const double shares = static_cast<double>(graph.ranks) * graph.steps;
    return {static_cast<double>(passes) / shares, to_seconds(sum) / shares};
}

}  // namespace

RankWaits rank_waits(const Job& job, const TaskGraph& graph, const std::vector<WorkDuration>& works) {
    if (!laws_apply(job) || !job.calibration->rank_lead) return {};
    const RankLeadLaw& law = *job.calibration->rank_lead;
    const Computing computing = computing_of(graph, works);
    RankWaits waits;
    if (job.plan.pp > 1 && computing.passes > 0.0) {
        waits.message = rank_wait(law, computing.time / computing.passes, 2);
    }
    if (!uses_parameter_server(job.plan)) waits.step = rank_wait(law, computing.time, job.plan.dp * job.plan.cp);
    return waits;
}

}  // namespace foreshard
