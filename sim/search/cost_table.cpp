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
    : space_(space), job_(job), shapes_(op_shapes(job)), overhead_(pass_overhead(job)) {
    build_blocks(cost, network);
    figures_.resize(space.kinds.size());
    known_.assign(space.kinds.size(), 0);
    StageKind all{true, 0, 0, job.model.mtp_layers, true, 0};
    for (int i = 0; i < job.model.num_layers; ++i) (is_moe_layer(job.model, i) ? all.experts : all.dense) += 1;
    const StageCost whole = figures(all).cost;
    // Passes of stages, and parts of them, are rounded by half a picosecond at most for all that time is spent on.
    const Picoseconds rounding = Picoseconds{spent_count} * 12 * (layers_of(all) + 2);
    whole_model_ = whole.forward + std::min(whole.backward, whole.input_grad + whole.weight_grad) - rounding;
}

const StageFigures& CostTable::at(int kind) {
    const auto place = static_cast<std::size_t>(kind);
    if (known_[place] == 0) figures_[place] = figures(space_.kinds[place]);
    known_[place] = 1;
    return figures_[place];
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

CostTable::Block CostTable::make_block(const OpBlock& block, const PassTimer& timer) const {
    return {block.kind, timer.time(block), block.saved, kept_until_weight_grad(job_, block), block.working_set};
}

/// Sums of times are those of the reference, bit by bit: blocks stand in the order of build_stage_ops, and every part
/// is rounded by itself, as durations() does.
class CostTable::StageSum {
public:
    void add(const Block& block, int repeat) {
        if (repeat <= 0) return;
        forward_ += block.times.forward * repeat;
        backward_ += block.times.backward * repeat;
        input_grad_ += block.times.input_grad * repeat;
        weight_grad_ += block.times.weight_grad * repeat;
        contents_.saved += repeat * block.saved;
        contents_.until_weight_grad += repeat * block.until_weight_grad;
        contents_.largest_working_set = std::max(contents_.largest_working_set, block.working_set);
        contents_.embedding |= block.kind == BlockKind::embedding;
        contents_.head |= block.kind == BlockKind::head;
    }
    StageCost cost(Seconds overhead) const {
        return {rounded(forward_, overhead),
                rounded(backward_, overhead),
                rounded(input_grad_, overhead),
                rounded(weight_grad_, overhead),
                0,
                0};
    }
    const PassContents& contents() const { return contents_; }

private:
    static Picoseconds rounded(PassTime time, Seconds overhead) {
        time.host += overhead;
        return to_picoseconds(time.compute) + to_picoseconds(time.recompute) + to_picoseconds(time.tp) +
               to_picoseconds(time.cp) + to_picoseconds(time.ep) + to_picoseconds(time.host);
    }

    PassTime forward_;
    PassTime backward_;
    PassTime input_grad_;
    PassTime weight_grad_;
    PassContents contents_;
};

StageFigures CostTable::figures(const StageKind& kind) const {
    StageSum stage;
    stage.add(embedding_, kind.embedding ? 1 : 0);
    const int layers = kind.dense + kind.experts;
    for (int done = 0; done < layers;) {
        const bool moe = is_moe_layer(job_.model, kind.first_layer + done);
        int run = 1;
        while (done + run < layers && is_moe_layer(job_.model, kind.first_layer + done + run) == moe) ++run;
        stage.add(moe ? experts_ : dense_, run);
        done += run;
    }
    stage.add(mtp_, kind.mtp);
    stage.add(head_, kind.loss ? 1 : 0);
    stage.add(head_, kind.loss ? job_.model.mtp_layers : 0);
    StageFigures figures;
    figures.cost = stage.cost(overhead_);
    if (job_.software.structure.counts_buffers) return figures;  // held tensors are counted op by op, not here
    const PassContents& contents = stage.contents();
    const PassBuffers backward = pass_buffers(job_, shapes_, contents, Pass::backward);
    figures.saved = contents.saved;
    figures.forward = pass_buffers(job_, shapes_, contents, Pass::forward).transient;
    figures.backward = backward.transient;
    figures.tail = backward.tail;
    figures.least = pass_buffers(job_, shapes_, {}, Pass::forward).transient;
    return figures;
}

}  // namespace foreshard
