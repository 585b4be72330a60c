#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/search/objective.hpp"
#include "sim/spec/job_request.hpp"

/// What is searched: a model on a cluster, and which plans.
namespace foreshard {

/// default: what changes neither numerics nor batch, in the usual order of axes. full: all that the search can bound.
enum class SpaceKind { usual, full };

struct SearchRequest {
    JobRequest base;  ///< what all plans share; fields that are axes of the search (and not kept) must be empty
    /// By axis (see search_axes): the values that are allowed, as text ("1..8", "1f1b,zb-v"). Others: the space's own.
    std::map<std::string, std::string> constraints;
    SpaceKind space = SpaceKind::usual;
    ObjectiveRequest objective;
    std::optional<double> max_memory_gib;  ///< less than the device has
    int top = 10;                          ///< best plans wanted
    int threads = 0;                       ///< 0: as many as the machine has
    bool exhaustive = false;               ///< no branch is cut: every plan's bound is computed
    bool relax = true;                     ///< where nothing fits, look for what makes room
    std::int64_t max_simulated = 0;        ///< the search ends once so many were and one fits; 0: as many as it takes
    double max_gap_ratio = -1.0;           ///< enough is known once SearchOutcome::gap_ratio is no larger; -1: all
    std::size_t trim_above = 1U << 20U;    ///< plans that wait: when more do, some are simulated to rule others out
};

/// An axis of the search, with the field of a JobRequest that it sets, its flag, and what its values are.
struct SearchAxis {
    std::string name;
    std::string help;
    /// What the job says of it holds for all plans, unless it is constrained; else the search varies it.
    bool kept = false;
};
const std::vector<SearchAxis>& search_axes();

/// Options of a job that the search does not know how to bound or vary yet must not be ignored.
/// @throws InputError naming the flag and what to do
void refuse_unsearched(const JobRequest& base);

}  // namespace foreshard
