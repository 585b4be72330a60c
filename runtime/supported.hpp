#pragma once

#include <vector>

#include "sim/spec/job.hpp"

namespace foreshard::runtime {

/// What the runtime cannot execute of a job that can be simulated, with the nearest that it can. Empty: all of it.
std::vector<BrokenRule> unsupported(const Job& job);

}  // namespace foreshard::runtime
