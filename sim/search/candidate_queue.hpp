#pragma once

#include <cstddef>
#include <vector>

#include "sim/search/branch_bounds.hpp"
#include "sim/search/incumbents.hpp"

/// Candidates in the order of their bounds.
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

/// By the bound of the objective, ties by that of the step and then by key.
class CandidateQueue {
public:
    explicit CandidateQueue(const ObjectiveWeights& weights) : weights_(weights) {}

    void push(const QueuedPlan& plan);
    bool empty() const { return plans_.empty(); }
    std::size_t size() const { return plans_.size(); }

    /// The first ones that `known` does not rule out, `most` at most; those in front of them that it does are dropped.
    std::vector<QueuedPlan> pop_some(std::size_t most, const Incumbents& known);

    /// What the objective takes at least for all that are left. Precondition: not empty.
    double least_value() const { return value(plans_.front()); }

private:
    double value(const QueuedPlan& plan) const {
        return weights_.value(plan.candidate.step_time, plan.candidate.busy_time);
    }
    bool comes_later(const QueuedPlan& a, const QueuedPlan& b) const;

    ObjectiveWeights weights_;
    std::vector<QueuedPlan> plans_;  ///< a heap
};

}  // namespace foreshard
