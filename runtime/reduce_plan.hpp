#pragma once

#include <map>
#include <vector>

#include "runtime/ranks.hpp"
#include "runtime/transport.hpp"

/// Which elements every reduction and gather of whole parameters is about: ranges of a stage's parameters in the order
/// in which their gradients get ready.
namespace foreshard::runtime {

struct Piece {
    int stage = 0;
    Range elements;
};

struct ReducePlan {
    std::map<std::int32_t, std::vector<Piece>> tasks;  ///< per reduction task of the rank
    /// Per stage: the pieces of one step's first reductions, which a sharded optimizer shares out one by one. The tied
    /// embedding is a piece of its own, so that both ranks that hold it cut it alike.
    std::map<int, std::vector<Piece>> shared_out;
};

/// For the simulated rank `pp`. Empty where parameters are sharded, or nothing is reduced.
ReducePlan plan_reductions(const Job& job, const TaskGraph& graph, int pp);

/// Range of the tied embedding's copy in a stage's parameters; empty for stages without one, or when no other rank has
/// a copy.
Range tied_range(const Job& job, const TaskGraph& graph, int stage);

/// Elements whose optimizer state `member` of `members` keeps, per entry of rank_stages; empty: all of them.
std::vector<std::vector<Range>> owned_ranges(const Job& job, const TaskGraph& graph, int pp, int members, int member);

}  // namespace foreshard::runtime
