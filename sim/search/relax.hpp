#pragma once

#include <stop_token>
#include <vector>

#include "sim/search/search.hpp"

/// What makes room for a plan where none fits.
namespace foreshard {

/// search() without advice.
SearchOutcome search_once(const SearchRequest& request, const OnProgress& on_progress, const std::stop_token& stop,
                          const OnImprovement& on_improvement = {});

/// Single changes of the request after which a plan fits. @param outcome of the request: no plan fits
std::vector<Relaxation> relax(const SearchRequest& request, const SearchOutcome& outcome, const std::stop_token& stop);

}  // namespace foreshard
