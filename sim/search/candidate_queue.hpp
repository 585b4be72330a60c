#pragma once

#include <cstddef>
#include <vector>

#include "sim/search/branch_bounds.hpp"
#include "sim/search/incumbents.hpp"

/// Candidates in the order of their bounds, ties in that of their keys.
namespace foreshard {

struct QueuedPlan {
    Candidate candidate;
    bool tight = false;  ///< its bounds will not get better: what is left is to simulate it
};

/// Whether the fast bounds leave nothing out that the plan's list of actions would tell.
bool bounds_are_tight(const Space& space, const PlanKey& key);

/// By the bound of the step, ties by key.
bool comes_first(const Candidate& a, const Candidate& b);

/// Places of those that none beats in both bounds, thinned out to so many. @param candidates sorted by comes_first
std::vector<std::size_t> front_of_bounds(const std::vector<Candidate>& candidates, std::size_t most);

class CandidateQueue {
public:
    void push(const QueuedPlan& plan);
    bool empty() const { return plans_.empty(); }
    std::size_t size() const { return plans_.size(); }

    /// The first ones that `known` does not rule out, `most` at most; those in front of them that it does are dropped.
    std::vector<QueuedPlan> pop_some(std::size_t most, const Incumbents& known);

    /// What the objective takes at least for all that are left. Precondition: not empty.
    double least_value(const ObjectiveWeights& weights) const;

private:
    std::vector<QueuedPlan> plans_;  ///< a heap
};

}  // namespace foreshard
