#pragma once

#include <optional>

#include "sim/result/spans.hpp"

namespace foreshard {

/// The three parts of a pipelined step. Warm-up: only forward passes run, until the first backward pass starts.
/// Cool-down: the last forward pass has ended. Steady between them; empty where no forward pass follows a backward
/// pass, as in GPipe.
struct PipelinePhases {
    Picoseconds begin = 0;
    Picoseconds steady_begin = 0;
    Picoseconds steady_end = 0;
    Picoseconds end = 0;
};

/// Of the passes in the table's window; none without forward or without backward passes there.
std::optional<PipelinePhases> pipeline_phases(const SpanTable& spans);

}  // namespace foreshard
