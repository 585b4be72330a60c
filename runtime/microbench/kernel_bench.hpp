#pragma once

#include <functional>

#include "runtime/microbench/bench_row.hpp"

namespace foreshard::runtime {

/// GEMMs, attention, memory-bound kernels, the optimizer and empty launches of one device, on random data. What takes
/// long on a device that blocks is called less often.
/// @param after_each is called after every row: others may be waiting
std::vector<BenchRow> bench_kernels(
    Device& device, const BenchSizes& sizes, const std::function<void()>& after_each = [] {});

}  // namespace foreshard::runtime
