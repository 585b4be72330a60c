#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/engine/pipeline_bound.hpp"

/// Pipelines whose time is known without playing them.
namespace foreshard {

/// Exact ends, where the order admits a closed form; empty elsewhere.
struct ExactEnds {
    std::vector<Picoseconds> ends;  ///< per rank; empty where only the makespan is known
    Picoseconds makespan = 0;
    std::string form;
};
std::optional<ExactEnds> exact_ends(const Job& job, const PipelineShape& shape, const PipelineCosts& costs);

/// One micro-batch at a time: ends of all ranks, whatever the stages cost.
ExactEnds naive_ends(const PipelineShape& shape, const PipelineCosts& costs);

}  // namespace foreshard
