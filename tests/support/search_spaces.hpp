#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/search/branch_bounds.hpp"
#include "sim/search/search.hpp"

/// Small spaces for tests of the search.
namespace foreshard::test {

/// A space of a small model on one or two nodes, drawn from a seed: with cheap plans and several schedules.
SearchRequest random_search(std::uint64_t seed);

/// Axes that the default space leaves alone, with partial recomputation, one or two at a time.
inline constexpr int kept_axis_groups = 7;
/// The same space, full in the drawn group of these axes and with single values of the others.
SearchRequest with_kept_axes(SearchRequest request, int group);

/// All plans of a space that no rule forbids, with their bounds and whatever memory they need.
struct BoundedSpace {
    Space space;
    std::vector<Candidate> plans;
};
BoundedSpace bounded_space(const SearchRequest& request);

/// Flags and step time of each plan that was found.
std::vector<std::string> plans_told(const SearchOutcome& outcome);

/// The resolved job of a plan.
Job job_of(const Space& space, const PlanKey& key);

}  // namespace foreshard::test
