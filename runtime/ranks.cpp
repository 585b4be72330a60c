#include "runtime/ranks.hpp"

#include <algorithm>

namespace foreshard::runtime {

Ranks::Ranks(const Job& job) : job_(job), grid_(rank_grid(job)) {
    const ParallelPlan& plan = job.plan;
    positions_.resize(static_cast<std::size_t>(plan.tp) * plan.dp * plan.pp);
    for (int pp = 0; pp < plan.pp; ++pp) {
        for (int dp = 0; dp < plan.dp; ++dp) {
            for (int tp = 0; tp < plan.tp; ++tp) {
                const RankPosition at{tp, 0, dp, pp};
                positions_[static_cast<std::size_t>(grid_.rank(at))] = at;
            }
        }
    }
}

int Ranks::on_pipeline_rank(int rank, int pp) const {
    RankPosition at = position(rank);
    at.pp = pp;
    return grid_.rank(at);
}

std::vector<int> Ranks::group(int rank, Axis axis) const {
    std::vector<int> members;
    RankPosition at = position(rank);
    if (axis == Axis::tp) {
        for (at.tp = 0; at.tp < job_.plan.tp; ++at.tp) members.push_back(grid_.rank(at));
    } else {
        for (const std::vector<int>& replicas : replica_groups(job_, axis)) {
            if (std::find(replicas.begin(), replicas.end(), position(rank).dp) == replicas.end()) continue;
            for (const int replica : replicas) {
                at.dp = replica;
                members.push_back(grid_.rank(at));
            }
        }
    }
    std::sort(members.begin(), members.end());
    return members;
}

}  // namespace foreshard::runtime
