#include "sim/plan/op_builders.hpp"
#include "sim/plan/parameters.hpp"

/// A decoder layer as ops. Bytes of memory-bound kernels count every tensor that a kernel reads or writes once; saved
/// tensors are those that autograd keeps (Korthikanti et al. 2022, arXiv 2205.05198, section 4.1).
namespace foreshard {

namespace {

/// Bytes of a full-width tensor of the rank's token share.
double shard_bytes(const OpShapes& shapes) {
    return static_cast<double>(shapes.element) * static_cast<double>(shapes.shard_tokens * shapes.hidden);
}

/// Input and output are kept, and mean and variance in fp32. RMSNorm out of single ops (Hugging Face, Paddle) keeps the
/// input in fp32, the normalised tensor and the output.
Op norm(const Job& job, const OpShapes& shapes) {
    const auto tensor = static_cast<ByteCount>(shard_bytes(shapes));
    const bool single_ops = !job.software.structure.fused_norm && job.model.norm == NormKind::rms_norm;
    const ByteCount full_input = single_ops ? 4 * shapes.shard_tokens * shapes.hidden : 0;
    return memory("norm", shard_bytes(shapes), shard_bytes(shapes), 2 * tensor + full_input + 8 * shapes.shard_tokens);
}

/// Reads gradient, input and output statistics twice (once for the parameter gradients).
Op norm_grad(const OpShapes& shapes) {
    return memory("norm_grad", 4.0 * shard_bytes(shapes), shard_bytes(shapes));
}

/// Bias, dropout and residual in one kernel; the dropout mask is one byte an element.
Op add_residual(const Job& job, const OpShapes& shapes) {
    const auto mask = static_cast<double>(shapes.shard_tokens * shapes.hidden);
    const bool dropout = job.software.structure.dropout;
    const bool saved = job.software.structure.saves_dropout_masks;
    return memory("bias_dropout_residual", 2.0 * shard_bytes(shapes), shard_bytes(shapes) + (dropout ? mask : 0.0),
                  saved ? static_cast<ByteCount>(mask) : 0);
}

Op add_residual_grad(const Job& job, const OpShapes& shapes) {
    const auto mask = static_cast<double>(shapes.shard_tokens * shapes.hidden);
    return memory("bias_dropout_residual_grad",
                  2.0 * shard_bytes(shapes) + (job.software.structure.dropout ? mask : 0.0), shard_bytes(shapes));
}

/// Rotary embedding of queries and keys, or the copy that transposes heads in front of unrotated attention.
Op position_kernel(const Job& job, const OpShapes& shapes, std::string_view name) {
    const double tokens = static_cast<double>(shapes.tokens) * shapes.element;
    if (job.model.positions == PositionKind::rotary) {
        const double rotated = tokens * static_cast<double>(shapes.query + 2 * shapes.kv) * 2.0 / 3.0;
        return memory(name, rotated, rotated);
    }
    const double copied = tokens * static_cast<double>(shapes.query);
    return memory(name, copied, copied);
}

Linear qkv_linear(const OpShapes& shapes) {
    return linear("qkv", "qkv_dgrad", "qkv_wgrad", shapes.tokens, shapes.query + 2 * shapes.kv, shapes.hidden,
                  shapes.element);
}

Linear projection_linear(const OpShapes& shapes) {
    return linear("projection", "projection_dgrad", "projection_wgrad", shapes.tokens, shapes.hidden, shapes.query,
                  shapes.element);
}

void append_layer_forward(const Job& job, const OpShapes& shapes, bool moe, OpBlock& block) {
    const TensorParallel tp(job, shapes);
    const bool post_norm = job.model.post_norm();
    const auto input = static_cast<ByteCount>(shard_bytes(shapes));
    std::vector<Op>& ops = block.forward;
    if (!post_norm) ops.push_back(norm(job, shapes));
    tp.enter_forward(ops);
    ops.push_back(qkv_linear(shapes).forward);
    if (post_norm) ops.back().saved = input;
    ops.push_back(position_kernel(job, shapes, "positions"));
    append_attention_forward(job, shapes, ops);
    ops.push_back(projection_linear(shapes).forward);
    tp.leave_forward(ops);
    ops.push_back(add_residual(job, shapes));
    ops.push_back(norm(job, shapes));
    if (moe) {
        append_experts(job, shapes, block);
    } else {
        append_mlp(job, shapes, block);
    }
    ops.push_back(add_residual(job, shapes));
    if (!post_norm) return;
    ops.push_back(norm(job, shapes));
    ops.back().saved -= input;  // its output is the next layer's input
}

void append_layer_backward(const Job& job, const OpShapes& shapes, bool moe, OpBlock& block) {
    const TensorParallel tp(job, shapes);
    const bool post_norm = job.model.post_norm();
    std::vector<Op>& ops = block.input_grad;
    // A residual's gradient is added up where the branch is entered: by its norm, or behind its first linear.
    ops.push_back(post_norm ? norm_grad(shapes) : add_residual_grad(job, shapes));
    if (moe) {
        append_experts_backward(job, shapes, block);
    } else {
        append_mlp_backward(job, shapes, block);
    }
    if (post_norm) ops.push_back(add_residual_grad(job, shapes));
    ops.push_back(norm_grad(shapes));
    if (!post_norm) ops.push_back(add_residual_grad(job, shapes));
    tp.enter_backward(ops);
    ops.push_back(projection_linear(shapes).input_grad);
    append_attention_backward(job, shapes, ops);
    ops.push_back(position_kernel(job, shapes, "positions_grad"));
    ops.push_back(qkv_linear(shapes).input_grad);
    tp.leave_backward(ops);
    ops.push_back(post_norm ? add_residual_grad(job, shapes) : norm_grad(shapes));
    block.weight_grad.push_back(projection_linear(shapes).weight_grad);
    block.weight_grad.push_back(qkv_linear(shapes).weight_grad);
}

ByteCount saved_by(const std::vector<Op>& ops) {
    ByteCount saved = 0;
    for (const Op& op : ops) saved += op.saved;
    return saved;
}

}  // namespace

ByteCount activation_saved(const Job& job, ByteCount output) {
    const bool gate_kept = job.model.gated_mlp && !job.software.structure.fused_swiglu;
    return gate_kept ? 2 * output : output;
}

void append_mlp(const Job& job, const OpShapes& shapes, OpBlock& block) {
    const TensorParallel tp(job, shapes);
    const std::int64_t ffn = job.model.ffn_hidden / job.plan.tp;
    const std::int64_t inner = job.model.gated_mlp ? 2 * ffn : ffn;
    const double tokens = static_cast<double>(shapes.tokens) * shapes.element;
    std::vector<Op>& ops = block.forward;
    tp.enter_forward(ops);
    ops.push_back(gemm("fc1", shapes.tokens, inner, shapes.hidden, shapes.element));
    ops.back().saved = shapes.element * shapes.tokens * inner;
    ops.push_back(memory("activation", tokens * static_cast<double>(inner), tokens * static_cast<double>(ffn),
                         activation_saved(job, shapes.element * shapes.tokens * ffn)));
    ops.push_back(gemm("fc2", shapes.tokens, shapes.hidden, ffn, shapes.element));
    tp.leave_forward(ops);
}

void append_mlp_backward(const Job& job, const OpShapes& shapes, OpBlock& block) {
    const TensorParallel tp(job, shapes);
    const std::int64_t ffn = job.model.ffn_hidden / job.plan.tp;
    const std::int64_t inner = job.model.gated_mlp ? 2 * ffn : ffn;
    const Linear fc1 = linear("fc1", "fc1_dgrad", "fc1_wgrad", shapes.tokens, inner, shapes.hidden, shapes.element);
    const Linear fc2 = linear("fc2", "fc2_dgrad", "fc2_wgrad", shapes.tokens, shapes.hidden, ffn, shapes.element);
    const double tokens = static_cast<double>(shapes.tokens * ffn) * shapes.element;
    std::vector<Op>& ops = block.input_grad;
    tp.enter_backward(ops);
    ops.push_back(fc2.input_grad);
    // Five tensors of width f move, gated or not (fused bias-GELU and SwiGLU kernels of Megatron-LM).
    ops.push_back(memory("activation_grad", 3.0 * tokens, 2.0 * tokens));
    ops.push_back(fc1.input_grad);
    tp.leave_backward(ops);
    block.weight_grad.push_back(fc2.weight_grad);
    block.weight_grad.push_back(fc1.weight_grad);
}

OpBlock layer_block(const Job& job, const OpShapes& shapes, bool moe) {
    OpBlock block;
    append_layer_forward(job, shapes, moe, block);
    append_layer_backward(job, shapes, moe, block);
    block.parameters = rank_layer_parameters(job, moe).dense;
    block.expert_parameters = rank_layer_parameters(job, moe).expert;
    append_accumulation(job, block.parameters + block.expert_parameters, block.weight_grad);
    block.saved = saved_by(block.forward);
    return block;
}

OpBlock mtp_block(const Job& job, const OpShapes& shapes) {
    // DeepSeek-V3 report section 2.2: two norms, a 2h -> h projection, one decoder layer.
    const bool moe = job.model.moe.has_value();
    OpBlock block = layer_block(job, shapes, moe);
    block.kind = BlockKind::mtp;
    const Linear join = linear("mtp_projection", "mtp_projection_dgrad", "mtp_projection_wgrad", shapes.shard_tokens,
                               shapes.hidden, 2 * shapes.hidden, shapes.element);
    std::vector<Op> front = {norm(job, shapes), norm(job, shapes), join.forward};
    front.back().saved = shapes.element * shapes.shard_tokens * shapes.hidden;
    block.forward.insert(block.forward.begin(), front.begin(), front.end());
    block.input_grad.push_back(join.input_grad);
    block.input_grad.push_back(norm_grad(shapes));
    block.input_grad.push_back(norm_grad(shapes));
    block.weight_grad.push_back(join.weight_grad);
    block.parameters += 2 * job.model.hidden * job.model.hidden + 2 * job.model.hidden;
    block.saved = saved_by(block.forward);
    return block;
}

}  // namespace foreshard
