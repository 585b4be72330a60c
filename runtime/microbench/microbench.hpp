#pragma once

#include "runtime/microbench/comm_bench.hpp"
#include "runtime/microbench/kernel_bench.hpp"

namespace foreshard::runtime {

/// Everything that is timed on one rank. All ranks call it; kernels are timed on rank 0 while the others wait, so that
/// ranks that share a processor do not disturb it.
std::vector<BenchRow> run_microbench(Device& device, Transport& transport,
                                     const std::vector<Communicator>& communicators, const BenchSizes& sizes);

}  // namespace foreshard::runtime
