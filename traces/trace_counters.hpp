#pragma once

#include "sim/result/report.hpp"
#include "traces/event_stream.hpp"

namespace foreshard {

/// Memory of a rank over the last step: "activations_bytes", "buffers_bytes", and their sum with the model states as
/// "allocated_bytes". A value is written when it changes.
void add_memory_counters(const RankReport& rank, EventStream& events);

}  // namespace foreshard
