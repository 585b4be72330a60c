#pragma once

#include <stop_token>

#include "sim/engine/evaluate.hpp"
#include "sim/stop.hpp"

namespace foreshard {

/// As evaluate(job); looks at `stop` between its phases, between the runs of a job that has several, before every split
/// of layers that balancing tries, and at every event where links are shared.
/// @throws Stopped
Evaluation evaluate(const Job& job, const std::stop_token& stop);

}  // namespace foreshard
