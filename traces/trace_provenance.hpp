#pragma once

#include <string>
#include <vector>

#include "sim/sim.hpp"

namespace foreshard {

/// The trace's "otherData", a JSON object: what was simulated, by what, and how to read the trace.
std::string trace_provenance(const Evaluation& evaluation, const std::vector<std::string>& notes);

/// The parallel plan and its batch in a line.
std::string plan_in_words(const Job& job);

}  // namespace foreshard
