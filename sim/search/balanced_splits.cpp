#include "sim/search/balanced_splits.hpp"

#include <algorithm>

#include "sim/cost/calibrated.hpp"
#include "sim/cost/nccl_network.hpp"
#include "sim/cost/stage_costs.hpp"
#include "sim/spec/layout.hpp"

namespace foreshard {

namespace {

double passes(const StageCost& cost) {
    return static_cast<double>(cost.forward + cost.backward);
}

Job on_one_rank(Job job, Recompute recompute) {
    ParallelPlan& plan = job.plan;
    plan.tp = plan.cp = plan.ep = plan.pp = plan.vpp = 1;
    plan.etp = 0;
    plan.dp = job.gpus;
    plan.schedule = ScheduleKind::none;
    plan.layout.clear();
    plan.sequence_parallel = plan.tp_comm_overlap = false;
    plan.recompute = recompute;
    plan.recompute_num_layers = 1;
    return job;
}

}  // namespace

EndLoads end_loads(const Job& job, Recompute recompute) {
    const Job alone = on_one_rank(job, recompute);
    const CalibratedCost cost(alone);
    const NcclNetwork network(alone);
    StageCoster coster(alone, cost, network);
    // Of experts and dense layers there are mostly more experts: they stand at the end.
    const int last = job.model.num_layers - 1;
    const double layer = passes(coster.cost({false, last, 1, 0, false}));
    const double embedded = passes(coster.cost({true, last, 1, 0, false}));
    const double with_loss = passes(coster.cost({false, last, 1, job.model.mtp_layers, true}));
    if (layer <= 0.0) return {};
    return {std::max(embedded / layer - 1.0, 0.0), std::max(with_loss / layer - 1.0, 0.0)};
}

std::vector<int> split_by_load(int layers, const std::vector<int>& stage_rank, const EndLoads& loads) {
    std::vector<int> counts(stage_rank.size(), 1);
    std::vector<double> load(static_cast<std::size_t>(*std::max_element(stage_rank.begin(), stage_rank.end())) + 1);
    for (const int rank : stage_rank) load[static_cast<std::size_t>(rank)] += 1.0;
    load[static_cast<std::size_t>(stage_rank.front())] += loads.embedding;
    load[static_cast<std::size_t>(stage_rank.back())] += loads.loss;
    for (auto more = layers - static_cast<int>(counts.size()); more > 0; --more) {
        const auto idlest = std::min_element(load.begin(), load.end());
        const auto rank = static_cast<int>(idlest - load.begin());
        int* smallest = nullptr;
        for (std::size_t s = 0; s < counts.size(); ++s) {
            if (stage_rank[s] == rank && (smallest == nullptr || counts[s] < *smallest)) smallest = &counts[s];
        }
        ++*smallest;
        *idlest += 1.0;
    }
    return counts;
}

}  // namespace foreshard
