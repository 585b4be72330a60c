#pragma once

#include <map>
#include <optional>
#include <set>

#include "sim/search/objective.hpp"
#include "sim/units.hpp"

/// The best plans that were simulated so far, and what they rule out.
namespace foreshard {

class Incumbents {
public:
    /// @param wanted best plans that are to be found @param weights what is best
    explicit Incumbents(int wanted, const ObjectiveWeights& weights = {}) : wanted_(wanted), weights_(weights) {}

    /// A simulated plan that fits. @param busy_time mean over GPUs
    void add(Picoseconds step_time, ByteCount memory, Picoseconds busy_time = 0);

    /// Whether a plan that takes at least so long, holds at least so much and keeps GPUs busy for at least so long can
    /// neither be among the best nor belong to the front of step time against memory.
    bool rule_out(Picoseconds step_time, ByteCount memory, Picoseconds busy_time = 0) const;

    /// The least value of the objective so far.
    std::optional<double> best() const { return best_.empty() ? std::nullopt : std::optional(*best_.begin()); }
    /// Whether no plan so far is as good by the objective.
    bool is_best(Picoseconds step_time, Picoseconds busy_time) const {
        return best_.empty() || weights_.value(step_time, busy_time) < *best_.begin();
    }

    /// Step time by memory, of the plans that none beats in both: the faster, the more memory.
    const std::map<Picoseconds, ByteCount>& front() const { return front_; }

private:
    int wanted_;
    ObjectiveWeights weights_;
    std::multiset<double> best_;  ///< values of the objective
    std::map<Picoseconds, ByteCount> front_;
};

}  // namespace foreshard
