#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/search/search.hpp"

/// Searches of one model on several numbers of GPUs and with several batches, and what they say together.
namespace foreshard {

struct SweepRequest {
    SearchRequest search;               ///< GPUs and batch of its base do not matter
    std::vector<int> gpus;              ///< ascending
    std::vector<std::int64_t> batches;  ///< sequences a step, ascending
};

/// Sizes as people write them (see sizes.hpp); absent: those of the search's base.
struct SizeTexts {
    std::optional<std::string> gpus;
    std::optional<std::string> nodes;  ///< in place of GPUs
    std::optional<std::string> batches;
};

/// The base gets the first of the sizes, so that it is one of a search by itself.
/// @throws InputError naming --gpus, --nodes or --gbs with what is wrong, or --cluster where a size has none
SweepRequest with_sizes(SearchRequest search, const SizeTexts& texts);

/// What is asked for is a search by itself.
bool one_size(const SweepRequest& request);

/// One size with one batch.
struct SweepPoint {
    int gpus = 0;
    std::int64_t gbs = 0;
    std::optional<SearchOutcome> outcome;  ///< that of the search by itself; absent where it was refused or not begun
    std::string reason;                    ///< why there is no plan; empty where there is one
    /// Tokens a second a GPU over those of the smallest size that has a plan for this batch.
    std::optional<double> efficiency_ratio;

    bool feasible() const { return outcome && !outcome->plans.empty(); }
};

/// A plan of a point, by places.
struct SweepPlan {
    std::size_t point = 0;
    std::size_t plan = 0;  ///< of the point's outcome
    bool operator==(const SweepPlan&) const = default;
};

struct SweepOutcome {
    std::vector<SweepPoint> points;  ///< by GPUs, then by batch
    Objective objective = Objective::step_time;
    int top = 0;
    /// All plans of all points, the best first: by the objective, for one token where batches differ. Of the first
    /// one's outcome neighbours and sensitivity are told.
    std::vector<SweepPlan> plans;
    std::vector<std::size_t> front;  ///< of `plans`, the fastest first: none takes less a token with as little memory
    std::vector<std::size_t> cost_front;  ///< the same against money; empty without a price
    double elapsed_s = 0.0;
    bool stopped = false;  ///< ended early: the points that were begun hold what is known

    /// Precondition: there are plans.
    SweepPoint& best_point() { return points[plans.front().point]; }
    const SweepPoint& best_point() const { return points[plans.front().point]; }
    const FoundPlan& plan(std::size_t i) const { return points[plans[i].point].outcome->plans[plans[i].plan]; }
};

/// Sets what the points' plans say together: efficiencies, and the plans of all with their fronts.
void compare_points(SweepOutcome& result);

/// A plan of a point as search() tells it; the best and the front are those of its point.
using OnSweepImprovement = std::function<void(const SweepPoint&, const Improvement&)>;

/// Each point is what search() finds for it alone; only where no point has a plan, the largest one is relaxed.
/// @param on_progress of the whole sweep, its phase is "sweep" @param stop ends the sweep early
/// @throws InputError where a request is malformed for every size
SweepOutcome sweep(const SweepRequest& request, const OnProgress& on_progress = {}, const std::stop_token& stop = {},
                   const OnSweepImprovement& on_improvement = {});

/// The search by itself of a point's size: what explains its plans (neighbours_of_best, sensitivity_of).
SearchRequest point_request(const SweepRequest& request, const SweepPoint& point);

}  // namespace foreshard
