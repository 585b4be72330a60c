#pragma once

#include <optional>
#include <vector>

#include "sim/cost/stage_costs.hpp"
#include "sim/plan/schedule.hpp"

/// Bounds and closed forms of the pipeline phase alone.
namespace foreshard {

/// What a schedule asks of each rank, without its order.
struct PipelineShape {
    int ranks = 0;
    int stages = 0;
    int microbatches = 0;
    std::vector<std::vector<int>> stage_rank;  ///< per direction
    std::vector<int> direction_microbatches;
    bool whole = false;  ///< some backward is one pass
    bool split = false;  ///< some backward is I and W
    bool fused = false;  ///< some passes run in pairs, whose messages leave together
    std::optional<VocabularySplit> vocabulary = std::nullopt;
};
PipelineShape pipeline_shape(const Schedule& schedule);

/// Costs of a pipeline: per stage, and of a message from stage s to s + 1 or back, zero inside a rank.
struct PipelineCosts {
    std::vector<StageCost> stages;
    std::vector<std::vector<Picoseconds>> hop;  ///< per direction, [s] between s and s + 1
    Picoseconds vocab_forward = 0;              ///< S and T, on every rank
    Picoseconds vocab_backward = 0;
    bool blocking = false;  ///< a sender's compute waits for its message
};

/// Ends of every rank's last pass that no order of actions can undercut.
std::vector<Picoseconds> earliest_ends(const Job& job, const PipelineShape& shape, const PipelineCosts& costs);

/// Per rank: no pass starts before a micro-batch has come through the stages in front of its first one.
std::vector<Picoseconds> earliest_starts(const PipelineShape& shape, const PipelineCosts& costs);

/// Time that the passes (and blocking sends) of every rank take: the least period of steps without a flush.
std::vector<Picoseconds> rank_work(const PipelineShape& shape, const PipelineCosts& costs);

}  // namespace foreshard
