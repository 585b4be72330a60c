#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/cost/pass_time.hpp"
#include "sim/cost/stage_costs.hpp"
#include "sim/plan/pass_buffers.hpp"
#include "sim/search/space.hpp"

/// Costs of every kind of stage for one choice of degrees inside a stage and micro-batch, and for all savings: computed
/// once, from the times of one layer of each sort (kept, recomputed), of embedding and of head.
namespace foreshard {

/// Passes and buffers of a stage for one micro-batch, as estimate() and the buffer plan have them.
struct StageFigures {
    StageCost cost;          ///< without parameters, which depend on the pipeline
    StageCost paced;         ///< the same, as long at least as copies to the host and back make its passes
    Picoseconds copies = 0;  ///< of all that waits on the host, one way; rounded down
    ByteCount saved = 0;     ///< held from forward to backward, without what may wait on the host
    ByteCount forward = 0;   ///< working set of a forward
    ByteCount backward = 0;  ///< of a backward, or of I
    ByteCount least = 0;     ///< of any part of a pass
    ByteCount tail = 0;      ///< at the end of a backward, or of W, its saved tensors gone
};

class CostTable {
public:
    /// @param job a plan of the branch: its degrees and micro-batch hold, its schedule and saving do not matter
    CostTable(const Space& space, Job job, const CostModel& cost, const NetworkModel& network,
              const PassGroups& groups);

    /// Figures of a saving. @param by_layer parameters are sharded: layers are listed one by one even where several are
    /// rebuilt together (see build_stage_ops)
    class View;
    View& view(int saving, bool by_layer);

    /// Layers of all sorts of a stage of this kind.
    int layers(int kind) const;

    /// Lower bound of all passes of all stages for one micro-batch, however they are cut into stages, with the least
    /// work of all savings.
    Picoseconds whole_model();

private:
    struct Block {
        BlockKind kind = BlockKind::layer;
        BlockTimes times;
        ByteCount saved = 0;
        ByteCount working_set = 0;
    };
    /// Layers of a sort in a row that are treated alike, or that are rebuilt together.
    struct Layers {
        bool experts = false;
        Recompute recompute = Recompute::none;
        int at_once = 1;
        bool grouped = false;
        std::vector<Block> blocks;  ///< of one layer, or of the group
    };
    class StageSum;

    Block make_block(const OpBlock& block) const;
    const std::vector<Block>& layer_blocks(bool experts, Recompute recompute, int at_once, bool grouped);
    void add_layers(const StageKind& kind, const Saving& saving, bool by_layer, StageSum& stage);
    void add_run(bool experts, int run, const Saving& saving, bool by_layer, StageSum& stage);
    StageFigures figures(const StageKind& kind, const Saving& saving, bool by_layer);

    const Space& space_;
    Job job_;  ///< its recomputation is that of the saving at hand
    PassTimer timer_;
    OpShapes shapes_;
    Seconds overhead_;
    Block embedding_;
    Block mtp_;
    Block head_;
    std::vector<std::unique_ptr<Layers>> known_layers_;
    std::vector<std::unique_ptr<View>> views_;  ///< [2 saving + by_layer]
    Picoseconds whole_model_ = -1;
};

/// Of all kinds of stages for one saving, each computed when it is first asked for.
class CostTable::View {
public:
    View(CostTable& table, const Saving& saving, bool by_layer);

    const StageFigures& at(int kind) {
        const auto place = static_cast<std::size_t>(kind);
        if (known_[place] == 0) compute(place);
        return figures_[place];
    }
    int layers(int kind) const { return table_.layers(kind); }
    bool offloads() const { return saving_.offloaded > 0; }

private:
    void compute(std::size_t kind);

    CostTable& table_;
    const Saving& saving_;
    bool by_layer_;
    std::vector<StageFigures> figures_;
    std::vector<std::uint8_t> known_;  ///< like figures_
};

}  // namespace foreshard
