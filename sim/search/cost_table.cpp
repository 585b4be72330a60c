#include "sim/search/cost_table.hpp"

#include <algorithm>

#include "sim/cost/durations.hpp"

namespace foreshard {

namespace {

/// Layers of a pass that it need not wait for: those in the buffers of both directions.
constexpr ByteCount copies_ahead = ByteCount{2} * offload_buffers;

int layers_of(const StageKind& kind) {
    return kind.dense + kind.experts + kind.mtp;
}

}  // namespace

int CostTable::layers(int kind) const {
    return layers_of(space_.kinds[static_cast<std::size_t>(kind)]);
}

CostTable::CostTable(const Space& space, Job job, const CostModel& cost, const NetworkModel& network,
                     const PassGroups& groups)
    : space_(space),
      job_(std::move(job)),
      timer_(job_, cost, network, groups),
      shapes_(op_shapes(job_)),
      overhead_(pass_overhead(job_)),
      embedding_(make_block(embedding_block(job_, shapes_))),
      head_(make_block(head_block(job_, shapes_))),
      views_(2 * space.savings.size()) {
    if (job_.model.mtp_layers > 0) mtp_ = make_block(mtp_block(job_, shapes_));
}

CostTable::View& CostTable::view(int saving, bool by_layer) {
    const Saving& of = space_.savings[static_cast<std::size_t>(saving)];
    const bool groups = of.recompute == Recompute::full && of.method == RecomputeMethod::uniform && of.layers > 1;
    const bool apart = groups && by_layer && !job_.software.structure.counts_buffers;
    std::unique_ptr<View>& view = views_[2 * static_cast<std::size_t>(saving) + (apart ? 1 : 0)];
    if (!view) view = std::make_unique<View>(*this, of, apart);
    return *view;
}

CostTable::View::View(CostTable& table, const Saving& saving, bool by_layer)
    : table_(table), saving_(saving), by_layer_(by_layer) {
    figures_.resize(table.space_.kinds.size());
    known_.assign(figures_.size(), 0);
}

void CostTable::View::compute(std::size_t kind) {
    figures_[kind] = table_.figures(table_.space_.kinds[kind], saving_, by_layer_);
    known_[kind] = 1;
}

Picoseconds CostTable::whole_model() {
    if (whole_model_ >= 0) return whole_model_;
    StageKind all{true, 0, 0, job_.model.mtp_layers, true};
    for (int i = 0; i < job_.model.num_layers; ++i) (is_moe_layer(job_.model, i) ? all.experts : all.dense) += 1;
    const StageCost whole = figures(all, space_.least_work, false).cost;
    // Passes of stages, and parts of them, are rounded by half a picosecond at most for all that time is spent on.
    const Picoseconds rounding = Picoseconds{spent_count} * 12 * (layers_of(all) + 2);
    whole_model_ = std::max(whole.forward + std::min(whole.backward, whole.input_grad + whole.weight_grad) - rounding,
                            Picoseconds{0});
    return whole_model_;
}

/// Blocks of layers that are treated alike; those of a group that is rebuilt together are its own.
const std::vector<CostTable::Block>& CostTable::layer_blocks(bool experts, Recompute recompute, int at_once,
                                                             bool grouped) {
    for (const auto& known : known_layers_) {
        if (known->experts == experts && known->recompute == recompute && known->at_once == at_once &&
            known->grouped == grouped) {
            return known->blocks;
        }
    }
    known_layers_.push_back(std::make_unique<Layers>(Layers{experts, recompute, at_once, grouped, {}}));
    std::vector<Block>& blocks = known_layers_.back()->blocks;
    const OpBlock layer = layer_block(job_, shapes_, experts);
    if (!grouped) {
        blocks.push_back(make_block(recomputed(layer, recompute, shapes_, at_once)));
        return blocks;
    }
    StageOps group;
    append_rebuilt_group(layer, shapes_, at_once, group);
    for (std::size_t i = 0; i < group.blocks.size(); ++i) {
        const bool as_before = i >= 2 && i + 1 < group.blocks.size();
        blocks.push_back(as_before ? blocks.back() : make_block(group.blocks[i]));
    }
    return blocks;
}

CostTable::Block CostTable::make_block(const OpBlock& block) const {
    return {block.kind, timer_.time(block), block.saved, block.working_set};
}

/// Sums of times are those of the reference, bit by bit: blocks stand in the order of build_stage_ops, and every part
/// is rounded by itself, as durations() does.
class CostTable::StageSum {
public:
    explicit StageSum(int offloaded) : offloaded_(offloaded), leaving_(offloaded) {}

    void add(const Block& block, int repeat) {
        if (repeat <= 0) return;
        forward_ += block.times.forward * repeat;
        backward_ += block.times.backward * repeat;
        input_grad_ += block.times.input_grad * repeat;
        weight_grad_ += block.times.weight_grad * repeat;
        contents_.saved += repeat * block.saved;
        const int away = block.kind == BlockKind::layer ? std::min(repeat, leaving_) : 0;
        if (away > 0) {
            away_ += away * block.saved;
            largest_away_ = std::max(largest_away_, block.saved);
            leaving_ -= away;
        }
        kept_forward_ += block.times.forward * (repeat - away);
        kept_backward_ += block.times.backward * (repeat - away);
        kept_input_grad_ += block.times.input_grad * (repeat - away);
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
    /// Layers leave one after the other, and a pass runs no more than a few ahead of their copies; so they come back.
    /// Layers that stay take their time besides.
    StageCost paced(const StageCost& cost, BytesPerSecond host_link) const {
        StageCost paced = cost;
        const ByteCount copied = away_ - copies_ahead * largest_away_;
        if (copied <= 0) return paced;
        const Picoseconds copies = to_picoseconds(Bytes(static_cast<double>(copied)) / host_link);
        const Seconds none{};
        paced.forward = std::max(cost.forward, rounded(kept_forward_, none) + copies);
        paced.backward = std::max(cost.backward, rounded(kept_backward_, none) + copies);
        paced.input_grad = std::max(cost.input_grad, rounded(kept_input_grad_, none) + copies);
        return paced;
    }
    /// Each layer's copy is rounded by half a picosecond at most.
    Picoseconds copies(BytesPerSecond host_link) const {
        return std::max(to_picoseconds(Bytes(static_cast<double>(away_)) / host_link) - offloaded_ - 1, Picoseconds{0});
    }
    const PassContents& contents() const { return contents_; }
    ByteCount away() const { return away_; }

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
    PassTime kept_forward_;  ///< of blocks whose saved tensors stay
    PassTime kept_backward_;
    PassTime kept_input_grad_;
    ByteCount away_ = 0;          ///< saved tensors that may wait on the host
    ByteCount largest_away_ = 0;  ///< of a layer
    int offloaded_ = 0;           ///< layers whose tensors may leave
    int leaving_ = 0;             ///< those to come
};

/// Layers of one sort that are all recomputed, or none of them.
void CostTable::add_run(bool experts, int run, const Saving& saving, bool by_layer, StageSum& stage) {
    const bool uniform = saving.recompute == Recompute::full && saving.method == RecomputeMethod::uniform;
    const int at_once = uniform ? std::max(saving.layers, 1) : 1;
    if (at_once == 1 || by_layer) {
        stage.add(layer_blocks(experts, saving.recompute, at_once, false).front(), run);
        return;
    }
    for (int left = run; left > 0; left -= at_once) {
        for (const Block& block : layer_blocks(experts, Recompute::full, std::min(left, at_once), true))
            stage.add(block, 1);
    }
}

/// Runs of layers as build_stage_ops has them: the first ones are dense.
void CostTable::add_layers(const StageKind& kind, const Saving& saving, bool by_layer, StageSum& stage) {
    const int all = kind.dense + kind.experts;
    const bool some =
        saving.recompute == Recompute::full && saving.method == RecomputeMethod::block && saving.layers > 0;
    const int rebuilt = some ? std::min(saving.layers, all) : all;
    for (int done = 0; done < all;) {
        const bool experts = done >= kind.dense;
        const bool again = done < rebuilt;
        int end = experts ? all : kind.dense;
        if (again) end = std::min(end, rebuilt);
        add_run(experts, end - done, again ? saving : Saving{}, by_layer, stage);
        done = end;
    }
}

StageFigures CostTable::figures(const StageKind& kind, const Saving& saving, bool by_layer) {
    StageSum stage(saving.offloaded);
    stage.add(embedding_, kind.embedding ? 1 : 0);
    add_layers(kind, saving, by_layer, stage);
    stage.add(mtp_, kind.mtp);
    stage.add(head_, kind.loss ? 1 : 0);
    stage.add(head_, kind.loss ? job_.model.mtp_layers : 0);
    StageFigures figures;
    figures.cost = stage.cost(overhead_);
    figures.paced = stage.paced(figures.cost, host_link(job_.cluster.device));
    figures.copies = stage.copies(host_link(job_.cluster.device));
    if (job_.software.structure.counts_buffers) return figures;  // held tensors are counted op by op, not here
    const PassContents& contents = stage.contents();
    job_.plan.recompute = saving.recompute;
    const PassBuffers backward = pass_buffers(job_, shapes_, contents, Pass::backward);
    figures.saved = contents.saved - stage.away();
    figures.forward = pass_buffers(job_, shapes_, contents, Pass::forward).transient;
    figures.backward = backward.transient;
    figures.tail = backward.tail;
    figures.least = pass_buffers(job_, shapes_, {}, Pass::forward).transient;
    return figures;
}

}  // namespace foreshard
