#pragma once

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

/// The busiest rank has as little to do as can be, every stage at least one layer; what is left over goes to early
/// ranks, behind which the pipeline drains faster. Precondition: layers >= stages. @param stage_rank rank of every
/// stage
std::vector<int> split_by_load(int layers, const std::vector<int>& stage_rank, const EndLoads& loads);

}  // namespace foreshard
