#pragma once

#include <vector>

#include "sim/search/neighbours.hpp"

/// Which plans lie next to the best one of a search.
namespace foreshard {

/// Those of neighbours_of_best(), not simulated yet: with the rule that forbids them where one does.
std::vector<Neighbour> neighbour_plans(const SearchRequest& request, const SearchOutcome& outcome);

}  // namespace foreshard
