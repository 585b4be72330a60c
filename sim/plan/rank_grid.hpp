#pragma once

#include <string>
#include <vector>

#include "sim/plan/op.hpp"
#include "sim/spec/job.hpp"

/// Where the groups of every axis lie on nodes, from the order of ranks.
namespace foreshard {

/// A group of ranks as the network sees it.
struct GroupPlacement {
    int size = 1;
    int per_domain = 1;  ///< members inside one NVLink domain (or node); where domains differ, the fewest
    int domains = 1;     ///< domains that the group spans
    bool operator==(const GroupPlacement&) const = default;
};

/// Position of a global rank on the axes that every parameter is laid out over.
struct RankPosition {
    int tp = 0;
    int cp = 0;
    int dp = 0;
    int pp = 0;
    bool operator==(const RankPosition&) const = default;
};

/// Distance in global ranks between neighbours of each axis. Ranks are numbered with the first axis of plan.order
/// fastest; expert groups number in the same order with etp for tp, expert-dp for dp and no cp (Megatron-LM
/// parallel_state.py, RankGenerator).
struct RankGrid {
    int tp = 1;
    int cp = 1;
    int dp = 1;
    int pp = 1;
    int etp = 1;
    int ep = 1;
    int expert_dp = 1;
    int expert_pp = 1;
    int domain = 1;  ///< ranks of one NVLink domain, or of a node where that is larger

    int rank(const RankPosition& at) const { return at.tp * tp + at.cp * cp + at.dp * dp + at.pp * pp; }
    int domain_of(int rank) const { return rank / domain; }
};
RankGrid rank_grid(const Job& job);

/// Data-parallel indices of every group of an axis dp, dp_shard or dp_replica.
std::vector<std::vector<int>> replica_groups(const Job& job, Axis axis);

/// The worst placement among all groups of an axis: the most domains, then the fewest members in one. Gradients are
/// reduced over data and context parallel ranks together, so that Axis::dp spans both.
GroupPlacement group_placement(const Job& job, Axis axis);

/// Placement of a group of two pipeline ranks, the worst of all positions of the other axes.
GroupPlacement pair_placement(const Job& job, int pp_rank_a, int pp_rank_b);

/// True when two pipeline ranks share an NVLink domain at every position of the other axes.
bool share_domain(const Job& job, int pp_rank_a, int pp_rank_b);

/// The same for one data-parallel replica, at every tensor and context parallel position.
bool share_domain(const Job& job, int pp_rank_a, int pp_rank_b, int replica);

}  // namespace foreshard
