#pragma once

#include <string>

#include "sim/search/search.hpp"

namespace foreshard {

/// foreshard.search (docs/formats.md): what the visualiser's plans view opens.
std::string search_json(const SearchOutcome& result);

}  // namespace foreshard
