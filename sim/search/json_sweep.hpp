#pragma once

#include <string>

#include "sim/search/sweep.hpp"

namespace foreshard {

/// foreshard.search with the plans of all sizes and the scaling curve, `sweep` (docs/formats.md).
std::string sweep_json(const SweepOutcome& result);

/// A line (JSON) of a plan as it is found: that of improvement_json() with its size.
std::string sweep_improvement_json(const SweepPoint& point, const Improvement& improvement);

}  // namespace foreshard
