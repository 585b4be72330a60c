#pragma once

#include <vector>

#include "sim/result/memory_profile.hpp"
#include "traces/trace_collector.hpp"

namespace foreshard {

/// Memory over time from the counters of our traces. They tell states only as a whole: it stands under weights.
RankMemory memory_of(const std::vector<CounterPoint>& points);

}  // namespace foreshard
