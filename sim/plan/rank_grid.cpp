#include "sim/plan/rank_grid.hpp"

#include <algorithm>

namespace foreshard {

namespace {

int degree(const ParallelPlan& plan, const std::string& axis) {
    if (axis == "tp") return plan.tp;
    if (axis == "cp") return plan.cp;
    if (axis == "dp") return plan.dp;
    if (axis == "pp") return plan.pp;
    return 1;  // ep is carved out of the dense axes
}

/// Distance between neighbours of the axis: the product of the degrees before it in the order.
int stride(const ParallelPlan& plan, const std::string& axis) {
    int product = 1;
    std::size_t begin = 0;
    while (begin < plan.order.size()) {
        const std::size_t end = std::min(plan.order.find('-', begin), plan.order.size());
        const std::string name = plan.order.substr(begin, end - begin);
        if (name == axis) break;
        product *= degree(plan, name);
        begin = end + 1;
    }
    return product;
}

int domain_size(const Job& job) {
    return std::max({job.cluster.gpus_per_nvlink_domain, job.cluster.gpus_per_node, 1});
}

GroupPlacement place(const Job& job, int size, int step) {
    GroupPlacement group;
    group.size = size;
    group.per_domain = std::clamp(domain_size(job) / std::max(step, 1), 1, size);
    group.domains = (size + group.per_domain - 1) / group.per_domain;
    return group;
}

}  // namespace

GroupPlacement group_placement(const Job& job, Axis axis) {
    const ParallelPlan& plan = job.plan;
    switch (axis) {
        case Axis::tp:
            return place(job, plan.tp, stride(plan, "tp"));
        case Axis::cp:
            return place(job, plan.cp, stride(plan, "cp"));
        // Gradients are reduced over data and context parallel ranks together.
        case Axis::dp:
            return place(job, plan.dp * plan.cp, std::min(stride(plan, "dp"), stride(plan, "cp")));
        case Axis::pp:
            return place(job, plan.pp, stride(plan, "pp"));
        case Axis::ep:
            return place(job, plan.ep, expert_tp(plan));
        case Axis::embedding:
            return place(job, 2, stride(plan, "pp") * std::max(plan.pp - 1, 1));
        // Pairs differ: see pair_placement. This is the one that is farthest apart.
        case Axis::replica:
            return pair_placement(job, 0, plan.pp - 1);
    }
    return {};
}

GroupPlacement pair_placement(const Job& job, int pp_rank_a, int pp_rank_b) {
    if (share_domain(job, pp_rank_a, pp_rank_b)) return {2, 2, 1};
    return {2, 1, 2};
}

int global_rank(const Job& job, int pp_rank) {
    return pp_rank * stride(job.plan, "pp");
}

bool share_domain(const Job& job, int pp_rank_a, int pp_rank_b) {
    const int size = domain_size(job);
    return global_rank(job, pp_rank_a) / size == global_rank(job, pp_rank_b) / size;
}

}  // namespace foreshard
