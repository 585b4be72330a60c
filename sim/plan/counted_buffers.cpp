#include "sim/plan/counted_buffers.hpp"

#include <algorithm>
#include <cassert>
#include <string_view>

#include "sim/plan/op_graph.hpp"

namespace foreshard {

namespace {

/// Sizes of tensors in bytes. "shard" is of the rank's tokens under sequence parallelism, "full" of all.
struct TensorSizes {
    ByteCount shard = 0;  ///< of the hidden width
    ByteCount full = 0;
    ByteCount column = 0;      ///< a statistic a token
    ByteCount statistics = 0;  ///< two a token of the shard
    ByteCount log_sums = 0;    ///< of flash attention
    ByteCount qkv = 0;
    ByteCount context = 0;
    ByteCount scores = 0;
    ByteCount inner = 0;  ///< output of fc1
    ByteCount activated = 0;
    ByteCount logits = 0;
};

TensorSizes tensor_sizes(const Job& job, const OpShapes& shapes) {
    const ByteCount element = shapes.element;
    const ByteCount state = std::max<ByteCount>(element, 4);  // statistics of 16-bit tensors are in fp32
    const std::int64_t ffn = job.model.ffn_hidden / job.plan.tp;
    TensorSizes sizes;
    sizes.shard = element * shapes.shard_tokens * shapes.hidden;
    sizes.full = element * shapes.tokens * shapes.hidden;
    sizes.column = state * shapes.tokens;
    sizes.statistics = 2 * state * shapes.shard_tokens;
    sizes.log_sums = state * shapes.tokens * shapes.heads;
    sizes.qkv = element * shapes.tokens * (shapes.query + 2 * shapes.kv);
    sizes.context = element * shapes.tokens * shapes.query;
    sizes.scores = element * shapes.tokens * shapes.heads * shapes.seq;
    sizes.inner = element * shapes.tokens * (job.model.gated_mlp ? 2 * ffn : ffn);
    sizes.activated = element * shapes.tokens * ffn;
    sizes.logits = element * shapes.tokens * shapes.vocab;
    return sizes;
}

/// Walks the ops of a pass; adds and frees tensors as their kernels do.
class PassWalk {
public:
    PassWalk(const Job& job, const TaskGraph& graph)
        : job_(job), graph_(graph), size_(tensor_sizes(job, op_shapes(job))) {
        sequence_parallel_ = job.plan.sequence_parallel && job.plan.tp > 1;
        embedding_norm_ = job.model.embedding_norm;
        shared_ = vocabulary_shares(job.plan) > 1;
    }

    PassBuffers run(const Work& work) {
        const StageOps& stage = graph_.stages[static_cast<std::size_t>(work.stage)];
        const std::vector<Unit> units = stage_units(stage);
        const int last = work.first_unit + work.units - 1;
        const auto block = [&](int unit) -> const OpBlock& {
            return stage.blocks[static_cast<std::size_t>(units[static_cast<std::size_t>(unit)].block)];
        };
        const bool ends_stage = last + 1 == static_cast<int>(units.size());
        if (is_vocabulary(work.pass)) return share(work, stage);
        // Where ranks share the vocabulary, the end stages exchange with the shares.
        const bool receives = block(0).kind != BlockKind::embedding || shared_;
        const bool gives = block(last).kind != BlockKind::head || shared_;
        if (work.pass == Pass::forward) {
            if (work.first_unit == 0 && receives) take(size_.shard);
            for (int unit = work.first_unit; unit <= last; ++unit) forward(block(unit));
            if (ends_stage && gives) give(size_.shard);
            return buffers();
        }
        const bool inputs = work.pass != Pass::weight_grad;
        if (inputs && ends_stage && gives) take(size_.shard);
        for (int unit = last; unit >= work.first_unit; --unit) {
            if (inputs) input_grad(block(unit));
            if (work.pass != Pass::input_grad) each(block(unit).weight_grad);
        }
        if (inputs && work.first_unit == 0 && receives) give(size_.shard);
        return buffers();
    }

private:
    void take(ByteCount bytes) {
        now_ += bytes;
        most_ = std::max(most_, now_);
    }
    void give(ByteCount bytes) { now_ -= bytes; }

    /// A lookup and its gradient, S and T; what is given away leaves at the end.
    PassBuffers share(const Work& work, const StageOps& stage) {
        embedding_norm_ = false;  // on the first stage
        const OpBlock& output = stage.blocks.back();
        const bool looks_up = work.first_unit == 0;
        const bool outputs = work.first_unit + work.units == static_cast<int>(stage.blocks.size());
        const bool early = vocabulary_split(job_.plan.schedule) == VocabularySplit::one_barrier;
        if (work.pass == Pass::vocab_forward) {
            if (looks_up) each(stage.blocks.front().forward);
            if (looks_up) give(size_.shard);
            if (!outputs) return buffers();
            take(size_.shard);
            each(output.forward);
            if (early) give(size_.shard);
            return buffers();
        }
        if (outputs) each(output.input_grad);
        for (int unit = work.first_unit + work.units - 1; unit >= std::max(work.first_unit, 1); --unit) {
            each(stage.blocks[static_cast<std::size_t>(unit)].weight_grad);
        }
        if (looks_up) take(size_.shard);
        if (looks_up) each(stage.blocks.front().weight_grad);
        if (outputs && !early) give(size_.shard);
        return buffers();
    }

    PassBuffers buffers() const {
        PassBuffers counted;
        counted.acquired = std::max(now_, ByteCount{0});
        counted.released = std::max(-now_, ByteCount{0});
        counted.transient = most_ - counted.acquired;
        return counted;
    }

    void forward(const OpBlock& block) {
        const ByteCount before = now_;
        kind_ = block.kind;
        keeps_scores_ = std::none_of(block.forward.begin(), block.forward.end(),
                                     [](const Op& op) { return op.name == "attention_softmax" && op.saved == 0; });
        loss_reductions_ = 0;
        each(block.forward);
        // Of a layer that is rebuilt the input, which was there before, and the output stay, or the output alone.
        const Kept kept = kept_of(block);
        if (kept != Kept::all) now_ = before + (kept == Kept::input ? size_.shard : 0);
    }

    void input_grad(const OpBlock& block) {
        kind_ = block.kind;
        const bool whole = rebuilt_layers(block) > 0;
        keeps_scores_ = true;
        std::size_t i = 0;
        for (; i < block.input_grad.size() && block.input_grad[i].recompute; ++i) {
            context_known_ = !whole;
            walk(block.input_grad[i].name);
        }
        context_known_ = false;
        if (whole) give(size_.shard);
        for (; i < block.input_grad.size(); ++i) walk(block.input_grad[i].name);
    }

    void each(const std::vector<Op>& ops) {
        for (const Op& op : ops) walk(op.name);
    }

    void walk(std::string_view op) {
        const bool known = layer_forward(op) || layer_backward(op) || layer_weights(op) || ends(op) || collectives(op);
        assert(known);
        static_cast<void>(known);
    }

    ByteCount gathered() const { return sequence_parallel_ ? size_.full : 0; }

    bool layer_forward(std::string_view op) {
        if (op == "norm") {
            take(size_.statistics + size_.shard);
        } else if (op == "qkv" || op == "fc1") {
            take(op == "qkv" ? size_.qkv : size_.inner);
            give(gathered());
        } else if (op == "attention_scores") {
            take(size_.scores);
        } else if (op == "attention_context") {
            if (context_known_) return true;
            take(size_.context);
            if (!keeps_scores_) give(size_.scores);
        } else if (op == "flash_attention") {
            take(size_.context + size_.log_sums);
        } else if (op == "activation") {
            take(size_.activated);
        } else if (op == "projection" || op == "fc2") {
            take(size_.full);
        } else if (op == "positions") {
            if (kind_ == BlockKind::embedding && embedding_norm_) end_norm();
        } else {
            return op == "attention_softmax" || op == "bias_dropout_residual";
        }
        return true;
    }

    /// Under sequence parallelism what stays for W is a gathered copy of a branch's gradient, else the gradient itself.
    void replace_gradient() { give(sequence_parallel_ ? size_.shard : 0); }

    bool layer_backward(std::string_view op) {
        if (op == "norm_grad") {
            give(size_.shard + size_.statistics);
            if (!job_.model.post_norm()) replace_gradient();
        } else if (op == "bias_dropout_residual_grad") {
            if (job_.model.post_norm()) replace_gradient();
        } else if (op == "fc2_dgrad") {
            take(size_.activated);
        } else if (op == "activation_grad") {
            if (job_.model.gated_mlp) take(size_.inner);
            give(size_.inner + (job_.model.gated_mlp ? size_.activated : 0));
        } else if (op == "fc1_dgrad" || op == "qkv_dgrad") {
            take(size_.full);
        } else if (op == "projection_dgrad") {
            take(size_.context);
        } else if (op == "attention_context_grad") {
            take(size_.scores + size_.qkv);
            give(size_.context);
        } else if (op == "flash_attention_grad") {
            take(size_.qkv);
            give(size_.context + size_.log_sums + size_.qkv);
        } else if (op == "attention_softmax_grad") {
            give(size_.scores);
        } else if (op == "attention_scores_grad") {
            give(size_.scores + size_.qkv);
        } else if (op == "positions_grad") {
            if (kind_ == BlockKind::embedding && embedding_norm_) end_norm_grad();
        } else {
            return false;
        }
        return true;
    }

    bool layer_weights(std::string_view op) {
        if (op == "fc2_wgrad") {
            give(size_.full + size_.activated);
        } else if (op == "fc1_wgrad") {
            give(size_.inner + size_.full);
        } else if (op == "projection_wgrad") {
            give(size_.full + size_.context);
        } else if (op == "qkv_wgrad") {
            give(size_.qkv + size_.full);
        } else {
            return false;
        }
        return true;
    }

    /// A norm whose statistics are made again in backward.
    void end_norm() {
        take(size_.shard + size_.statistics);
        give(size_.statistics);
    }

    void end_norm_grad() {
        take(size_.statistics);
        give(size_.statistics + size_.shard);
    }

    bool ends(std::string_view op) {
        if (op == "embedding") {
            take(size_.full);
            if (job_.plan.tp == 1 && embedding_norm_) end_norm();
        } else if (op == "embedding_grad") {
            if (!sequence_parallel_ && embedding_norm_) end_norm_grad();
            give(size_.full);
        } else if (op == "mlm_transform") {
            take(2 * size_.shard);
        } else if (op == "mlm_transform_dgrad") {
            give(size_.shard);
            take(size_.shard);
        } else if (op == "mlm_transform_wgrad") {
            give(2 * size_.shard);
        } else if (op == "final_norm") {
            end_norm();
        } else if (op == "final_norm_grad") {
            end_norm_grad();
        } else if (op == "logits") {
            take(size_.logits);
            give(gathered());
        } else if (op == "logits_dgrad") {
            take(size_.full);
        } else if (op == "logits_wgrad") {
            give(size_.logits + size_.full);
        } else {
            return loss(op);
        }
        return true;
    }

    bool loss(std::string_view op) {
        if (op == "cross_entropy") {
            take(3 * size_.column);
            if (job_.plan.tp == 1) end_loss();
        } else if (op == "softmax_rescale") {
            take_statistics_back();
        } else if (op == "target_rows") {
            take(size_.full);
        } else {
            if (op == "cross_entropy_grad") take_statistics_back();
            return op == "cross_entropy_grad";
        }
        return true;
    }

    /// A share keeps its statistics, and its maximum beside that of all ranks, until T.
    void end_loss() {
        if (shared_) take(size_.column);
        if (!shared_) give(3 * size_.column);
    }

    /// At the first op of T; with one barrier the target rows too.
    void take_statistics_back() {
        if (!shared_ || statistics_taken_) return;
        statistics_taken_ = true;
        give(4 * size_.column);
        if (vocabulary_split(job_.plan.schedule) == VocabularySplit::one_barrier) give(size_.shard);
    }

    bool collectives(std::string_view op) {
        if (op == "tp_all_gather" || op == "tp_all_gather_grad") {
            take(size_.full);
        } else if (op == "tp_all_gather_again") {
            take(size_.full);
            give(size_.shard);
        } else if (op == "tp_reduce_scatter" || op == "tp_reduce_scatter_grad") {
            scatter();
        } else if (op == "tp_target_rows_reduce") {
            if (sequence_parallel_) scatter();
        } else if (op == "tp_embedding_reduce") {
            if (sequence_parallel_) scatter();
            if (embedding_norm_) end_norm();
        } else if (op == "tp_embedding_gather") {
            if (embedding_norm_) end_norm_grad();
            take(size_.full);
            give(size_.shard);
        } else if (op == "tp_loss_all_reduce") {
            reduce_loss();
        } else {
            return op == "tp_all_reduce" || op == "tp_all_reduce_grad";
        }
        return true;
    }

    void scatter() {
        take(size_.shard);
        give(size_.full);
    }

    /// The maximum is compared with a copy; the third sum ends the loss.
    void reduce_loss() {
        const int index = loss_reductions_++;
        if (index == 0) take(size_.column);
        if (index == 0) give(size_.column);
        if (index == 2) end_loss();
    }

    const Job& job_;
    const TaskGraph& graph_;
    TensorSizes size_;
    bool sequence_parallel_ = false;
    bool embedding_norm_ = false;
    bool keeps_scores_ = true;
    bool shared_ = false;  ///< the vocabulary, by all pipeline ranks
    bool statistics_taken_ = false;
    BlockKind kind_ = BlockKind::layer;
    bool context_known_ = false;  ///< selective recomputation: it is there still
    int loss_reductions_ = 0;
    ByteCount now_ = 0;
    ByteCount most_ = 0;
};

}  // namespace

PassBuffers counted_pass(const Job& job, const TaskGraph& graph, const Work& work) {
    return PassWalk(job, graph).run(work);
}

}  // namespace foreshard
