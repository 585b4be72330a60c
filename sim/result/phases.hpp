#pragma once

#include <optional>

#include "sim/result/spans.hpp"

namespace foreshard {

/// The three parts of a pipelined step. Warm-up: from the first pass until every rank has started one. Cool-down: from
/// the moment the first rank has run its last pass. Steady between them; empty when there are too few micro-batches to
/// fill the pipeline.
struct PipelinePhases {
    Picoseconds begin = 0;
    Picoseconds steady_begin = 0;
    Picoseconds steady_end = 0;
    Picoseconds end = 0;
};

/// Of the passes in the table's window; none when no rank runs a pass there.
std::optional<PipelinePhases> pipeline_phases(const SpanTable& spans);

}  // namespace foreshard
