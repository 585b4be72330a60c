#pragma once

#include "runtime/microbench/microbench.hpp"
#include "runtime/program/processes.hpp"

namespace foreshard::runtime {

/// The micro-benchmarks of a plan's ranks: threads of this process, or this process as one of many.
/// @throws InputError, TransportError
std::vector<BenchRow> calibrate(const Plan& plan, const RunOptions& options, Processes& processes);

}  // namespace foreshard::runtime
