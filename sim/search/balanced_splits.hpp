#pragma once

#include <cstdint>
#include <vector>

#include "sim/spec/job.hpp"

/// Layers of pipeline stages by what embedding and loss add to the ranks that hold them.
namespace foreshard {

/// Passes of what the ends hold beside layers, in passes of a layer.
struct EndLoads {
    double embedding = 0.0;
    double loss = 0.0;  ///< MTP layers with their losses too
};

/// Of the job's model on one rank without tensor parallelism: vocabulary and layers are divided alike.
/// @param recompute of the layers
EndLoads end_loads(const Job& job, Recompute recompute);

/// Which of several ranks with as much to do takes a layer more: early ones hold more micro-batches, behind late ones
/// the pipeline drains more slowly.
enum class LayersLeft : std::uint8_t { early, late };

/// The busiest rank has as little to do as can be, every stage at least one layer. Precondition: layers >= stages.
/// @param stage_rank rank of every stage
std::vector<int> split_by_load(int layers, const std::vector<int>& stage_rank, const EndLoads& loads, LayersLeft left);

}  // namespace foreshard
