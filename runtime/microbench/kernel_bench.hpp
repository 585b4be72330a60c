#pragma once

#include "runtime/microbench/bench_row.hpp"

namespace foreshard::runtime {

/// GEMMs, attention, memory-bound kernels, the optimizer and empty launches of one device, on random data.
std::vector<BenchRow> bench_kernels(Device& device, const BenchSizes& sizes);

}  // namespace foreshard::runtime
