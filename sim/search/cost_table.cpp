#include "sim/search/cost_table.hpp"

#include <algorithm>

#include "sim/cost/durations.hpp"

namespace foreshard {

namespace {

int layers_of(const StageKind& kind) {
    return kind.dense + kind.experts + kind.mtp;
}

}  // namespace

int CostTable::layers(int kind) const {
    return layers_of(space_.kinds[static_cast<std::size_t>(kind)]);
}

CostTable::CostTable(const Space& space, const Job& job, const CostModel& cost, const NetworkModel& network)
    : space_(space), job_(job), shapes_(op_shapes(job)) {
    build_blocks(cost, network);
    figures_.reserve(space.kinds.size());
    for (const StageKind& kind : space.kinds) figures_.push_back(figures(kind));
    StageKind all{true, 0, 0, job.model.mtp_layers, true, 0};
    for (int i = 0; i < job.model.num_layers; ++i) (is_moe_layer(job.model, i) ? all.experts : all.dense) += 1;
    const StageCost whole = figures(all).cost;
    // Passes of stages, and parts of them, are rounded by half a picosecond at most for all that time is spent on.
    const Picoseconds rounding = Picoseconds{spent_count} * 12 * (layers_of(all) + 2);
    whole_model_ = whole.forward + std::min(whole.backward, whole.input_grad + whole.weight_grad) - rounding;
}

void CostTable::build_blocks(const CostModel& cost, const NetworkModel& network) {
    const PassTimer timer(job_, cost, network);
    const int layers = job_.model.num_layers;
    bool moe = false;
    bool dense = false;
    for (int i = 0; i < layers; ++i) (is_moe_layer(job_.model, i) ? moe : dense) = true;
    const auto layer = [&](bool sort) {
        return recomputed(layer_block(job_, shapes_, sort), job_.plan.recompute, shapes_, 1);
    };
    if (dense) dense_ = make_block(layer(false), timer);
    if (moe) experts_ = make_block(layer(true), timer);
    if (job_.model.mtp_layers > 0) mtp_ = make_block(mtp_block(job_, shapes_), timer);
    embedding_ = make_block(embedding_block(job_, shapes_), timer);
    head_ = make_block(head_block(job_, shapes_), timer);
}

CostTable::Block CostTable::make_block(OpBlock block, const PassTimer& timer) const {
    Block made;
    made.times = timer.time(block);
    made.until_weight_grad = kept_until_weight_grad(job_, block);
    block.forward.clear();
    block.input_grad.clear();
    block.weight_grad.clear();
    made.shell = std::move(block);
    return made;
}

const CostTable::Block& CostTable::block_of(BlockKind kind, bool moe) const {
    switch (kind) {
        case BlockKind::embedding:
            return embedding_;
        case BlockKind::layer:
            return moe ? experts_ : dense_;
        case BlockKind::mtp:
            return mtp_;
        case BlockKind::head:
            return head_;
    }
    return head_;
}

void CostTable::add(BlockKind kind, bool moe, int repeat, StageOps& stage, std::vector<BlockTimes>& times,
                    PassContents& contents) const {
    if (repeat <= 0) return;
    const Block& block = block_of(kind, moe);
    stage.blocks.push_back(block.shell);
    stage.blocks.back().repeat = repeat;
    times.push_back(block.times);
    contents.saved += repeat * block.shell.saved;
    contents.until_weight_grad += repeat * block.until_weight_grad;
    contents.largest_working_set = std::max(contents.largest_working_set, block.shell.working_set);
    contents.embedding |= kind == BlockKind::embedding;
    contents.head |= kind == BlockKind::head;
}

/// Blocks in the order of build_stage_ops: sums of times are those of the reference, bit by bit.
StageFigures CostTable::figures(const StageKind& kind) const {
    StageOps stage;
    std::vector<BlockTimes> times;
    PassContents contents;
    add(BlockKind::embedding, false, kind.embedding ? 1 : 0, stage, times, contents);
    const int layers = kind.dense + kind.experts;
    for (int done = 0; done < layers;) {
        const bool moe = is_moe_layer(job_.model, kind.first_layer + done);
        int run = 1;
        while (done + run < layers && is_moe_layer(job_.model, kind.first_layer + done + run) == moe) ++run;
        add(BlockKind::layer, moe, run, stage, times, contents);
        done += run;
    }
    add(BlockKind::mtp, false, kind.mtp, stage, times, contents);
    add(BlockKind::head, false, kind.loss ? 1 : 0, stage, times, contents);
    add(BlockKind::head, false, kind.loss ? job_.model.mtp_layers : 0, stage, times, contents);
    const Seconds overhead = pass_overhead(job_);
    const auto total = [&](Pass pass) { return whole_pass(stage, times, pass, overhead).total(); };
    StageFigures figures;
    figures.cost = {
        total(Pass::forward), total(Pass::backward), total(Pass::input_grad), total(Pass::weight_grad), 0, 0};
    if (job_.software.structure.counts_buffers) return figures;  // held tensors are counted op by op, not here
    figures.saved = contents.saved;
    figures.forward = pass_buffers(job_, shapes_, contents, Pass::forward).transient;
    figures.backward = pass_buffers(job_, shapes_, contents, Pass::backward).transient;
    figures.tail = pass_buffers(job_, shapes_, contents, Pass::backward).tail;
    figures.least = pass_buffers(job_, shapes_, {}, Pass::forward).transient;
    return figures;
}

}  // namespace foreshard
