#include "sim/plan/rank_grid.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "sim/spec/data_parallel.hpp"

namespace foreshard {

namespace {

/// Degrees by axis name, and the strides that an order gives them.
class Strides {
public:
    Strides(std::string_view order, std::map<std::string_view, int> degrees) : degrees_(std::move(degrees)) {
        int product = 1;
        std::size_t begin = 0;
        while (begin <= order.size()) {
            const std::size_t end = std::min(order.find('-', begin), order.size());
            const std::string_view axis = order.substr(begin, end - begin);
            strides_[axis] = product;
            const auto degree = degrees_.find(axis);
            if (degree != degrees_.end()) product *= std::max(degree->second, 1);
            begin = end + 1;
        }
    }

    int of(std::string_view axis) const {
        const auto found = strides_.find(axis);
        return found != strides_.end() ? found->second : 1;
    }

private:
    std::map<std::string_view, int> degrees_;
    std::map<std::string_view, int> strides_;
};

struct AxisExtent {
    int stride = 1;
    int degree = 1;
};

/// All sums of multiples of the extents.
std::vector<int> offsets(const std::vector<AxisExtent>& extents) {
    std::vector<int> all = {0};
    for (const AxisExtent& extent : extents) {
        const std::size_t known = all.size();
        for (int k = 1; k < extent.degree; ++k) {
            for (std::size_t i = 0; i < known; ++i) all.push_back(all[i] + k * extent.stride);
        }
    }
    std::sort(all.begin(), all.end());
    return all;
}

/// Residues that are reached from those `seen` by multiples of an extent.
std::vector<bool> shifted(const std::vector<bool>& seen, const AxisExtent& extent) {
    const int domain = static_cast<int>(seen.size());
    std::vector<bool> next = seen;
    for (int k = 1; k < std::min(extent.degree, domain); ++k) {
        for (int r = 0; r < domain; ++r) {
            if (!seen[static_cast<std::size_t>(r)]) continue;
            next[static_cast<std::size_t>((r + std::int64_t{k} * extent.stride) % domain)] = true;
        }
    }
    return next;
}

/// Where groups can begin within a domain: sums of multiples of the extents, modulo `domain`.
std::vector<int> residues(const std::vector<AxisExtent>& extents, int domain) {
    std::vector<bool> seen(static_cast<std::size_t>(domain));
    seen[0] = true;
    for (const AxisExtent& extent : extents) seen = shifted(seen, extent);
    std::vector<int> all;
    for (int r = 0; r < domain; ++r) {
        if (seen[static_cast<std::size_t>(r)]) all.push_back(r);
    }
    return all;
}

/// Members are ascending offsets from a first rank that lies at `residue` of its domain.
GroupPlacement place(const std::vector<int>& members, int residue, int domain) {
    GroupPlacement group{static_cast<int>(members.size()), static_cast<int>(members.size()), 0};
    int inside = 0;
    int current = -1;
    for (const int member : members) {
        const int here = (residue + member) / domain;
        if (here != current) {
            if (group.domains > 0) group.per_domain = std::min(group.per_domain, inside);
            ++group.domains;
            inside = 0;
            current = here;
        }
        ++inside;
    }
    group.per_domain = std::min(group.per_domain, inside);
    return group;
}

GroupPlacement worst_placement(const std::vector<AxisExtent>& inside, const std::vector<AxisExtent>& outside,
                               int domain) {
    const std::vector<int> members = offsets(inside);
    GroupPlacement worst;
    worst.domains = 0;
    for (const int residue : residues(outside, domain)) {
        const GroupPlacement group = place(members, residue, domain);
        const bool worse =
            group.domains > worst.domains || (group.domains == worst.domains && group.per_domain < worst.per_domain);
        if (worse) worst = group;
    }
    return worst;
}

/// Groups of `count` replicas, each the `step`-th after the one before; replicas are numbered by ascending rank.
GroupPlacement replica_placement(const ParallelPlan& plan, const RankGrid& grid, int step, int count) {
    const std::vector<int> replicas = offsets({{grid.dp, plan.dp}, {grid.cp, plan.cp}});
    GroupPlacement worst;
    worst.domains = 0;
    for (const int residue : residues({{grid.tp, plan.tp}, {grid.pp, plan.pp}}, grid.domain)) {
        for (std::size_t first = 0; first < replicas.size(); first += step == 1 ? static_cast<std::size_t>(count) : 1) {
            if (first + static_cast<std::size_t>(step) * (count - 1) >= replicas.size()) break;
            std::vector<int> members;
            members.reserve(static_cast<std::size_t>(count));
            for (int i = 0; i < count; ++i) members.push_back(replicas[first + static_cast<std::size_t>(step * i)]);
            const GroupPlacement group = place(members, residue, grid.domain);
            const bool worse = group.domains > worst.domains ||
                               (group.domains == worst.domains && group.per_domain < worst.per_domain);
            if (worse) worst = group;
        }
    }
    return worst;
}

/// Two positions, one on each side, share a domain from every start that `others` allow.
bool share(const std::vector<AxisExtent>& others, int first, int offset_a, int offset_b, int domain) {
    const std::vector<int> starts = residues(others, domain);
    return std::all_of(starts.begin(), starts.end(), [&](int start) {
        return (first + start + offset_a) / domain == (first + start + offset_b) / domain;
    });
}

}  // namespace

std::vector<std::vector<int>> replica_groups(const Job& job, Axis axis) {
    const int dp = std::max(job.plan.dp, 1);
    int width = dp;
    if (axis == Axis::host) width = 1;
    if (axis == Axis::dp_shard || axis == Axis::dp_replica) {
        width = std::clamp(inner_group_size(job.plan) / std::max(job.plan.cp, 1), 1, dp);
    }
    std::vector<std::vector<int>> groups(static_cast<std::size_t>(axis == Axis::dp_replica ? width : dp / width));
    for (int i = 0; i < dp; ++i) {
        const int group = axis == Axis::dp_replica ? i % width : std::min(i / width, dp / width - 1);
        groups[static_cast<std::size_t>(group)].push_back(i);
    }
    return groups;
}

RankGrid rank_grid(const Job& job) {
    const ParallelPlan& plan = job.plan;
    const int etp = expert_tp(plan);
    const int expert_dp = expert_data_parallel(job);
    const Strides dense(plan.order, {{"tp", plan.tp}, {"cp", plan.cp}, {"dp", plan.dp}, {"pp", plan.pp}});
    const Strides expert(plan.order, {{"tp", etp}, {"ep", plan.ep}, {"dp", expert_dp}, {"pp", plan.pp}});
    RankGrid grid;
    grid.tp = dense.of("tp");
    grid.cp = dense.of("cp");
    grid.dp = dense.of("dp");
    grid.pp = dense.of("pp");
    grid.etp = expert.of("tp");
    grid.ep = expert.of("ep");
    grid.expert_dp = expert.of("dp");
    grid.expert_pp = expert.of("pp");
    grid.domain = std::max({job.cluster.gpus_per_nvlink_domain, job.cluster.gpus_per_node, 1});
    return grid;
}

GroupPlacement group_placement(const Job& job, Axis axis) {
    const ParallelPlan& plan = job.plan;
    const RankGrid grid = rank_grid(job);
    const AxisExtent tp{grid.tp, plan.tp};
    const AxisExtent cp{grid.cp, plan.cp};
    const AxisExtent dp{grid.dp, plan.dp};
    const AxisExtent pp{grid.pp, plan.pp};
    switch (axis) {
        case Axis::tp:
            return worst_placement({tp}, {cp, dp, pp}, grid.domain);
        case Axis::cp:
            return worst_placement({cp}, {tp, dp, pp}, grid.domain);
        case Axis::dp:
            return worst_placement({dp, cp}, {tp, pp}, grid.domain);
        case Axis::pp:
            return worst_placement({pp}, {tp, cp, dp}, grid.domain);
        case Axis::ep:
            return worst_placement(
                {{grid.ep, plan.ep}},
                {{grid.etp, expert_tp(plan)}, {grid.expert_dp, expert_data_parallel(job)}, {grid.expert_pp, plan.pp}},
                grid.domain);
        case Axis::embedding:
            return worst_placement({{grid.pp * std::max(plan.pp - 1, 1), 2}}, {tp, cp, dp}, grid.domain);
        case Axis::dp_shard:
            return replica_placement(plan, grid, 1, inner_group_size(plan));
        case Axis::dp_replica:
            return replica_placement(plan, grid, inner_group_size(plan),
                                     std::max(plan.dp * plan.cp / inner_group_size(plan), 1));
        // Pairs differ: see pair_placement. This is the one that is farthest apart.
        case Axis::replica:
            return pair_placement(job, 0, plan.pp - 1);
        case Axis::host:
            return {1, 1, 1};
    }
    return {};
}

GroupPlacement pair_placement(const Job& job, int pp_rank_a, int pp_rank_b) {
    if (share_domain(job, pp_rank_a, pp_rank_b)) return {2, 2, 1};
    return {2, 1, 2};
}

bool share_domain(const Job& job, int pp_rank_a, int pp_rank_b) {
    const RankGrid grid = rank_grid(job);
    return share({{grid.tp, job.plan.tp}, {grid.cp, job.plan.cp}, {grid.dp, job.plan.dp}}, 0, pp_rank_a * grid.pp,
                 pp_rank_b * grid.pp, grid.domain);
}

bool share_domain(const Job& job, int pp_rank_a, int pp_rank_b, int replica) {
    const RankGrid grid = rank_grid(job);
    // Positions may wrap, so that the replica's own start counts modulo the domain like the others.
    return share({{grid.tp, job.plan.tp}, {grid.cp, job.plan.cp}}, replica * grid.dp % grid.domain, pp_rank_a * grid.pp,
                 pp_rank_b * grid.pp, grid.domain);
}

}  // namespace foreshard
