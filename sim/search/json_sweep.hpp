#pragma once

#include <string>

#include "sim/search/sweep.hpp"

namespace foreshard {

/// foreshard.search with the plans of all sizes and the scaling curve, `sweep` (docs/formats.md).
std::string sweep_json(const SweepOutcome& result);

}  // namespace foreshard
