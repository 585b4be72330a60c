#pragma once

#include <string>

#include "sim/plan/op.hpp"
#include "sim/spec/job.hpp"

/// Where the groups of every axis lie on nodes, from the order of ranks.
namespace foreshard {

/// A group of ranks as the network sees it.
struct GroupPlacement {
    int size = 1;
    int per_domain = 1;  ///< members inside one NVLink domain (or node)
    int domains = 1;     ///< domains that the group spans
};

/// Placement of the group of rank 0. Ranks are numbered with the first axis of plan.order fastest; expert groups
/// number etp, ep, expert-dp, pp.
GroupPlacement group_placement(const Job& job, Axis axis);

/// Placement of a group of two pipeline ranks (at position 0 of the other axes).
GroupPlacement pair_placement(const Job& job, int pp_rank_a, int pp_rank_b);

/// Global rank of pipeline rank `pp_rank` at position 0 of all other axes.
int global_rank(const Job& job, int pp_rank);

/// True when two pipeline ranks (at position 0 of the other axes) share an NVLink domain.
bool share_domain(const Job& job, int pp_rank_a, int pp_rank_b);

}  // namespace foreshard
