#pragma once

#include <cstddef>
#include <queue>
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

class CandidateQueue {
public:
    void push(const QueuedPlan& plan) { plans_.push(plan); }
    bool empty() const { return plans_.empty(); }
    std::size_t size() const { return plans_.size(); }

    /// The first ones that `known` does not rule out, `most` at most; those in front of them that it does are dropped.
    std::vector<QueuedPlan> pop_some(std::size_t most, const Incumbents& known);

private:
    struct ComesLater {
        bool operator()(const QueuedPlan& a, const QueuedPlan& b) const {
            if (a.candidate.step_time != b.candidate.step_time) return a.candidate.step_time > b.candidate.step_time;
            return b.candidate.key < a.candidate.key;
        }
    };
    std::priority_queue<QueuedPlan, std::vector<QueuedPlan>, ComesLater> plans_;
};

}  // namespace foreshard
