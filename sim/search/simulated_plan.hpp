#pragma once

#include <cstddef>
#include <stop_token>
#include <vector>

#include "sim/result/report.hpp"
#include "sim/search/objective.hpp"
#include "sim/search/space.hpp"

/// Plans of a space that the engine ran, and which of them are told.
namespace foreshard {

struct SimulatedPlan {
    PlanKey key;
    Picoseconds step_time = 0;
    Picoseconds busy_time = 0;  ///< mean over GPUs
    ByteCount memory = 0;       ///< allocated
    ByteCount need = 0;         ///< and outside the allocator
    Summary summary;
};

/// @throws Stopped
SimulatedPlan simulate_plan(const Space& space, const PlanKey& key, const std::stop_token& stop);

struct ToldPlans {
    std::vector<std::size_t> places;  ///< of the plans, the best by the objective first
    std::vector<std::size_t> front;   ///< of `places`, the fastest first: none is faster with as little memory
};

/// The best ones, and all others of the front of step time against memory, which does not always follow the objective.
/// @param plans are sorted @param top best ones wanted
ToldPlans told_plans(std::vector<SimulatedPlan>& plans, const ObjectiveWeights& weights, int top);

}  // namespace foreshard
