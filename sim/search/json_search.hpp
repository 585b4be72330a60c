#pragma once

#include <string>

#include "sim/search/search.hpp"

namespace foreshard {

/// foreshard.search (docs/formats.md): what the visualiser's plans view opens.
std::string search_json(const SearchOutcome& result);

/// A line (JSON) of a plan as it is found: plan, batch and summary as in foreshard.search, how many plans were
/// simulated by then, and whether it is the best of them and on their front.
std::string improvement_json(const Improvement& improvement);

}  // namespace foreshard
