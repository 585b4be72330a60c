#pragma once

#include <vector>

#include "sim/plan/rank_grid.hpp"
#include "sim/plan/task_graph.hpp"

/// Which real ranks there are, and whom each of them meets. Precondition: no context parallelism.
namespace foreshard::runtime {

class Ranks {
public:
    explicit Ranks(const Job& job);

    int count() const { return static_cast<int>(positions_.size()); }
    const RankPosition& position(int rank) const { return positions_[static_cast<std::size_t>(rank)]; }
    /// Same place on the other axes, on another pipeline rank.
    int on_pipeline_rank(int rank, int pp) const;
    /// Ranks of the group of an axis that `rank` is in, ascending. For tp, dp, dp_shard and dp_replica.
    std::vector<int> group(int rank, Axis axis) const;

private:
    const Job& job_;
    RankGrid grid_;
    std::vector<RankPosition> positions_;
};

}  // namespace foreshard::runtime
