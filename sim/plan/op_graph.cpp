#include "sim/plan/op_graph.hpp"

#include <algorithm>
#include <cassert>

#include "sim/plan/op_builders.hpp"
#include "sim/plan/parameters.hpp"
#include "sim/spec/data_parallel.hpp"

namespace foreshard {

namespace {

bool is_attention_core(const Op& op) {
    return op.kind == OpKind::attention_matmul || op.kind == OpKind::flash_attention ||
           op.name == "attention_softmax" || op.name == "attention_dropout";
}

void run_again(const Op& op, std::vector<Op>& ops, Flops& flops) {
    Op again = op;
    again.recompute = true;
    again.saved = 0;
    ops.push_back(again);
    flops += op.flops;
}

/// Selective: scores, softmax and dropout are rebuilt from Q, K and V; only with unfused attention is there anything
/// to gain, flash attention keeps no score matrix.
void recompute_attention(OpBlock& block) {
    std::vector<Op> again;
    for (Op& op : block.forward) {
        if (!is_attention_core(op) || op.kind == OpKind::flash_attention) continue;
        run_again(op, again, block.recompute_flops);
        if (op.kind == OpKind::memory) {
            block.saved -= op.saved;
            op.saved = 0;
        }
    }
    block.input_grad.insert(block.input_grad.begin(), again.begin(), again.end());
}

/// Full: only inputs of groups of layers are kept; the working set is one group's full table.
void recompute_layer(OpBlock& block, const OpShapes& shapes, int layers_at_once) {
    std::vector<Op> again;
    for (Op& op : block.forward) {
        run_again(op, again, block.recompute_flops);
        op.saved = 0;
    }
    block.input_grad.insert(block.input_grad.begin(), again.begin(), again.end());
    block.working_set = block.saved * layers_at_once;
    const ByteCount input = shapes.element * shapes.shard_tokens * shapes.hidden;
    block.saved = (input + layers_at_once - 1) / layers_at_once;
    block.forward.front().saved = block.saved;
}

/// Runs of layers of one kind: dense or mixture of experts, recomputed or not.
void append_layers(const Job& job, const OpShapes& shapes, const StageContents& contents, StageOps& stage) {
    const ParallelPlan& plan = job.plan;
    const bool by_block = plan.recompute == Recompute::full && plan.recompute_method == RecomputeMethod::block;
    const int at_once = plan.recompute_method == RecomputeMethod::uniform ? std::max(plan.recompute_num_layers, 1) : 1;
    // Block method: the first recompute_num_layers of every stage (Megatron-LM transformer_block.py); 0 means all.
    const int recomputed_layers = by_block && plan.recompute_num_layers > 0
                                      ? std::min(plan.recompute_num_layers, contents.layers)
                                      : contents.layers;
    // Frameworks gather sharded parameters layer by layer, and so are they listed; the project's own runtime gathers
    // those of layers that are rebuilt together.
    const bool together = !shards_parameters(plan) || job.software.structure.counts_buffers;
    const bool groups = plan.recompute == Recompute::full && at_once > 1 && together;
    int layer = 0;
    while (layer < contents.layers) {
        const bool moe = is_moe_layer(job.model, contents.first_layer + layer);
        const bool again = layer < recomputed_layers;
        int run = 1;
        while (layer + run < contents.layers && is_moe_layer(job.model, contents.first_layer + layer + run) == moe &&
               (layer + run < recomputed_layers) == again) {
            ++run;
        }
        OpBlock block = layer_block(job, shapes, moe);
        block.first_layer = contents.first_layer + layer;
        layer += run;
        if (again && groups) {
            for (; run > 0; run -= at_once) {
                append_rebuilt_group(block, shapes, std::min(run, at_once), stage);
                block.first_layer += at_once;
            }
            continue;
        }
        if (again) block = recomputed(block, plan.recompute, shapes, at_once);
        block.repeat = run;
        stage.blocks.push_back(std::move(block));
    }
}

StageOps stage_ops(const Job& job, const OpShapes& shapes, const StageContents& contents, int losses) {
    StageOps stage;
    const bool shared = vocabulary_shares(job.plan) > 1;
    if (contents.embedding)
        stage.blocks.push_back(shared ? positions_block(job, shapes) : embedding_block(job, shapes));
    append_layers(job, shapes, contents, stage);
    if (contents.mtp_layers > 0) {
        stage.blocks.push_back(mtp_block(job, shapes));
        stage.blocks.back().repeat = contents.mtp_layers;
    }
    if (contents.loss && shared) {
        stage.blocks.push_back(final_norm_block(job, shapes));
    } else if (contents.loss) {
        stage.blocks.push_back(head_block(job, shapes));
        if (losses > 1) {
            // Every prediction depth runs the shared output layer again; its parameters exist once.
            OpBlock extra = stage.blocks.back();
            extra.parameters = 0;
            extra.repeat = losses - 1;
            stage.blocks.push_back(std::move(extra));
        }
    }
    return stage;
}

}  // namespace

std::int64_t StageOps::parameters() const {
    std::int64_t count = 0;
    for (const OpBlock& block : blocks) count += block.repeat * block.parameters;
    return count;
}

std::int64_t StageOps::expert_parameters() const {
    std::int64_t count = 0;
    for (const OpBlock& block : blocks) count += block.repeat * block.expert_parameters;
    return count;
}

ByteCount StageOps::saved() const {
    ByteCount bytes = 0;
    for (const OpBlock& block : blocks) bytes += block.repeat * block.saved;
    return bytes;
}

ByteCount OpBlock::weight_grad_inputs() const {
    double bytes = 0.0;
    for (const Op& op : weight_grad) {
        if (op.kind == OpKind::gemm) bytes += op.read.value;
    }
    return static_cast<ByteCount>(bytes);
}

OpShapes op_shapes(const Job& job) {
    const ModelSpec& model = job.model;
    const int tp = job.plan.tp;
    OpShapes shapes;
    shapes.micro_batch = job.micro_batch;
    shapes.seq = job.seq_length;
    shapes.tokens = job.micro_batch * job.seq_length / job.plan.cp;
    shapes.shard_tokens = job.plan.sequence_parallel ? shapes.tokens / tp : shapes.tokens;
    shapes.hidden = model.hidden;
    shapes.query = model.query_width() / tp;
    shapes.kv = std::max(model.kv_heads / tp, 1) * model.head_dim;
    shapes.heads = model.heads / tp;
    shapes.head_dim = model.head_dim;
    shapes.vocab = vocabulary_rows(job);
    shapes.element = activation_bytes(job.plan.precision);
    return shapes;
}

OpBlock recomputed(OpBlock block, Recompute recompute, const OpShapes& shapes, int layers_at_once) {
    assert(layers_at_once >= 1);
    switch (recompute) {
        case Recompute::none:
            break;
        case Recompute::selective:
            recompute_attention(block);
            break;
        case Recompute::full:
            recompute_layer(block, shapes, layers_at_once);
            break;
    }
    return block;
}

void append_rebuilt_group(const OpBlock& layer, const OpShapes& shapes, int layers, StageOps& stage) {
    OpBlock last = recomputed(layer, Recompute::full, shapes, 1);
    last.working_set *= layers;
    OpBlock plain = last;
    plain.recompute_flops = Flops(0.0);
    std::erase_if(plain.input_grad, [](const Op& op) { return op.recompute; });
    const auto again = static_cast<std::ptrdiff_t>(last.input_grad.size() - plain.input_grad.size());
    const std::vector<Op> once(last.input_grad.begin(), last.input_grad.begin() + again);
    for (int i = 1; i < layers; ++i) last.input_grad.insert(last.input_grad.begin(), once.begin(), once.end());
    last.recompute_flops = last.recompute_flops * layers;
    for (int i = 0; i < layers; ++i) {
        OpBlock& block = stage.blocks.emplace_back(i + 1 < layers ? plain : last);
        block.first_layer = layer.first_layer + i;
        if (i == 0) continue;
        block.saved = 0;
        block.forward.front().saved = 0;
    }
}

std::vector<StageOps> build_stage_ops(const Job& job, const std::vector<StageContents>& layout) {
    const OpShapes shapes = op_shapes(job);
    std::vector<StageOps> stages;
    stages.reserve(layout.size());
    for (const StageContents& contents : layout) {
        stages.push_back(stage_ops(job, shapes, contents, 1 + job.model.mtp_layers));
    }
    if (vocabulary_shares(job.plan) > 1) stages.push_back(vocabulary_share_ops(job, shapes));
    return stages;
}

Kept kept_of(const OpBlock& block) {
    if (block.kind != BlockKind::layer || block.forward.empty()) return Kept::all;
    const auto saves = [](const Op& op) { return op.saved > 0; };
    if (std::any_of(block.forward.begin() + 1, block.forward.end(), saves)) return Kept::all;
    return saves(block.forward.front()) ? Kept::input : Kept::nothing;
}

int rebuilt_layers(const OpBlock& block) {
    if (block.input_grad.empty() || block.forward.empty()) return 0;
    const Op& first = block.input_grad.front();
    if (!first.recompute || first.name != block.forward.front().name) return 0;
    const auto again =
        std::count_if(block.input_grad.begin(), block.input_grad.end(), [](const Op& op) { return op.recompute; });
    return static_cast<int>(again) / static_cast<int>(block.forward.size());
}

}  // namespace foreshard
