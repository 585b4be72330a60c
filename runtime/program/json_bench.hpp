#pragma once

#include <string>
#include <vector>

#include "runtime/environment.hpp"
#include "runtime/microbench/bench_row.hpp"
#include "runtime/program/run_options.hpp"

namespace foreshard::runtime {

/// foreshard.microbench (docs/formats.md).
std::string microbench_json(const RunOptions& options, const Environment& environment, const ClusterSpec& cluster,
                            int ranks, const std::vector<BenchRow>& rows);

}  // namespace foreshard::runtime
