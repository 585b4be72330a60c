#pragma once

#include <optional>
#include <vector>

#include "sim/fit/measurements.hpp"

namespace foreshard {

/// The law through the median of what ranks wait after passes and the median after whole steps; its exponent is held
/// between 0 (one rank is slower all the time) and 1/2 (disturbances do not depend on each other), and is 1/2 where
/// there is only one of the two. None without points that wait.
std::optional<RankLeadLaw> fit_rank_lead(const std::vector<LeadPoint>& points);

}  // namespace foreshard
