#pragma once

#include <string>
#include <vector>

#include "sim/result/compare.hpp"

namespace foreshard {

/// foreshard.comparison (docs/formats.md): the first run against each other one.
/// @param comparisons of runs[0] with runs[1], runs[2], ...
std::string comparison_json(const std::vector<Run>& runs, const std::vector<Comparison>& comparisons);

}  // namespace foreshard
