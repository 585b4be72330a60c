#pragma once

#include <cstdint>

#include "sim/result/run.hpp"
#include "sim/spec/job.hpp"

/// Runs for tests.
namespace foreshard::test {

Run run_of(const Job& job, const std::string& name = "run");

/// any_plan(seed), simulated.
Run any_run(std::uint64_t seed);

/// A table of `rows` compute rows with gaps and spans of random lengths, some of them zero, kinds and micro-batches.
SpanTable random_spans(std::uint64_t seed, int rows, int spans_per_row);

}  // namespace foreshard::test
