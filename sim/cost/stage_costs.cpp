#include "sim/cost/stage_costs.hpp"

#include "sim/cost/durations.hpp"
#include "sim/plan/op_graph.hpp"

namespace foreshard {

StageCost StageCoster::compute(const StageContents& contents) const {
    return price(build_stage_ops(job_, {contents}).front(), pass_overhead(job_));
}

StageCost StageCoster::vocabulary_share() const {
    StageOps share = vocabulary_share_ops(job_, op_shapes(job_));
    if (job_.software.structure.counts_buffers) {
        // Lookups are tasks apart and hold up nobody.
        share.blocks.front().forward.clear();
        share.blocks.front().weight_grad.clear();
    }
    return price(share, Seconds(0.0));
}

StageCost StageCoster::price(const StageOps& stage, Seconds overhead) const {
    std::vector<BlockTimes> blocks;
    blocks.reserve(stage.blocks.size());
    for (const OpBlock& block : stage.blocks) blocks.push_back(timer_.time(block));
    const auto total = [&](Pass pass) { return whole_pass(stage, blocks, pass, overhead).total(); };
    return {total(Pass::forward),     total(Pass::backward), total(Pass::input_grad),
            total(Pass::weight_grad), stage.parameters(),    stage.expert_parameters()};
}

const StageCost& StageCoster::cost(const StageContents& contents) {
    int experts = 0;
    for (int i = 0; i < contents.layers; ++i) experts += is_moe_layer(job_.model, contents.first_layer + i) ? 1 : 0;
    const Key key{contents.embedding, contents.layers - experts, experts, contents.mtp_layers, contents.loss};
    const auto known = known_.find(key);
    return known != known_.end() ? known->second : known_.emplace(key, compute(contents)).first->second;
}

}  // namespace foreshard
