#pragma once

#include <cstdint>
#include <vector>

#include "sim/cost/pass_time.hpp"
#include "sim/cost/stage_costs.hpp"
#include "sim/plan/pass_buffers.hpp"
#include "sim/search/space.hpp"

/// Costs of every kind of stage for one choice of degrees inside a stage, micro-batch and recomputation: computed once,
/// from the times of one layer of each sort, of embedding and of head.
namespace foreshard {

/// Passes and buffers of a stage for one micro-batch, as estimate() and the buffer plan have them.
struct StageFigures {
    StageCost cost;          ///< without parameters, which depend on the pipeline
    ByteCount saved = 0;     ///< held from forward to backward
    ByteCount forward = 0;   ///< working set of a forward
    ByteCount backward = 0;  ///< of a backward, or of I
    ByteCount least = 0;     ///< of any part of a pass
    ByteCount tail = 0;      ///< at the end of a backward, or of W, its saved tensors gone
};

class CostTable {
public:
    /// @param job a plan of the branch: its degrees, micro-batch and recomputation hold, its schedule does not matter
    CostTable(const Space& space, const Job& job, const CostModel& cost, const NetworkModel& network);

    /// Computed when it is first asked for.
    const StageFigures& at(int kind);

    /// Layers of all sorts of a stage of this kind.
    int layers(int kind) const;

    /// Lower bound of all passes of all stages for one micro-batch, however they are cut into stages.
    Picoseconds whole_model() const { return whole_model_; }

private:
    struct Block {
        BlockKind kind = BlockKind::layer;
        BlockTimes times;
        ByteCount saved = 0;
        ByteCount until_weight_grad = 0;
        ByteCount working_set = 0;
    };
    class StageSum;

    void build_blocks(const CostModel& cost, const NetworkModel& network);
    Block make_block(const OpBlock& block, const PassTimer& timer) const;
    StageFigures figures(const StageKind& kind) const;

    const Space& space_;
    const Job& job_;
    OpShapes shapes_;
    Seconds overhead_;
    Block embedding_;
    Block dense_;
    Block experts_;
    Block mtp_;
    Block head_;
    std::vector<StageFigures> figures_;
    std::vector<std::uint8_t> known_;  ///< like figures_
    Picoseconds whole_model_ = 0;
};

}  // namespace foreshard
