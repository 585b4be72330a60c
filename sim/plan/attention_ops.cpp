#include "sim/plan/op_builders.hpp"

/// Sources: FLOPs and bytes of the unfused core follow Megatron-LM's CoreAttention (fused scale-mask-softmax; the full
/// score matrix is computed, masked or not); saved tensors follow Korthikanti et al. 2022 (arXiv 2205.05198) section 4.
namespace foreshard {

namespace {

double scores(const OpShapes& shapes) {
    const std::int64_t queries = shapes.tokens / shapes.micro_batch;  // of one sequence; tokens are whole sequences
    return static_cast<double>(shapes.micro_batch * shapes.heads) * static_cast<double>(shapes.seq * queries);
}

Op attention_matmul(std::string_view name, const OpShapes& shapes, double flops, double read, double written) {
    Op op;
    op.name = name;
    op.kind = OpKind::attention_matmul;
    op.m = shapes.tokens / shapes.micro_batch;
    op.n = shapes.seq;
    op.k = shapes.head_dim;
    op.batch = shapes.micro_batch * shapes.heads;
    op.flops = Flops(flops);
    op.read = Bytes(read);
    op.written = Bytes(written);
    return op;
}

/// Two products of the score matrix with Q, K or V; `count` pairs.
Op score_products(std::string_view name, const OpShapes& shapes, double count) {
    const double matrix = shapes.element * scores(shapes);
    const double operands = 3.0 * shapes.element * static_cast<double>(shapes.tokens * shapes.query);
    return attention_matmul(name, shapes, count * 4.0 * scores(shapes) * static_cast<double>(shapes.head_dim),
                            count * (matrix + 2.0 * operands), count * matrix);
}

void append_kv_exchange(const Job& job, const OpShapes& shapes, std::vector<Op>& ops, double times) {
    if (job.plan.cp == 1) return;
    const double kv = 2.0 * shapes.element * static_cast<double>(shapes.micro_batch * shapes.seq * shapes.kv);
    Op op = collective("cp_kv_exchange", CollectiveKind::all_gather, Axis::cp, times * kv);
    op.behind_previous = true;
    ops.push_back(op);
}

Op flash(const Job& job, const OpShapes& shapes, bool backward) {
    const double halves = job.model.mask == AttentionMask::causal ? 1.0 : 2.0;
    Op op;
    op.name = backward ? "flash_attention_grad" : "flash_attention";
    op.kind = OpKind::flash_attention;
    op.backward = backward;
    op.m = shapes.tokens / shapes.micro_batch;
    op.n = shapes.seq;
    op.k = shapes.head_dim;
    op.batch = shapes.micro_batch * shapes.heads;
    op.flops = Flops(2.0 * halves * scores(shapes) * static_cast<double>(shapes.head_dim) * (backward ? 2.5 : 1.0));
    const double qkv = shapes.element * static_cast<double>(shapes.tokens * (shapes.query + 2 * shapes.kv));
    const double out = shapes.element * static_cast<double>(shapes.tokens * shapes.query);
    op.read = Bytes(backward ? 2.0 * out + qkv : qkv);
    op.written = Bytes(backward ? qkv : out);
    if (!backward) {
        // Q, K, V, the output (also the projection's input) and fp32 log-sum-exp.
        op.saved = static_cast<ByteCount>(qkv) + static_cast<ByteCount>(out) + 4 * shapes.heads * shapes.tokens;
    }
    return op;
}

void append_unfused_forward(const Job& job, const OpShapes& shapes, std::vector<Op>& ops) {
    const double matrix = shapes.element * scores(shapes);
    const auto count = static_cast<ByteCount>(scores(shapes));
    const bool dropout = job.software.structure.dropout;
    Op products = score_products("attention_scores_and_context", shapes, 1.0);
    products.saved = shapes.element * shapes.tokens * (2 * shapes.query + 2 * shapes.kv);
    ops.push_back(products);
    // Softmax output is kept; with dropout also its mask (1 byte) and result.
    const bool masks = job.software.structure.saves_dropout_masks;
    ops.push_back(memory("attention_softmax", matrix, matrix, shapes.element * count * 2 + (masks ? count : 0)));
    if (dropout) ops.push_back(memory("attention_dropout", matrix, 1.5 * matrix));
}

void append_unfused_backward(const Job& job, const OpShapes& shapes, std::vector<Op>& ops) {
    const double matrix = shapes.element * scores(shapes);
    ops.push_back(score_products("attention_context_and_scores_grad", shapes, 2.0));
    if (job.software.structure.dropout) ops.push_back(memory("attention_dropout_grad", 1.5 * matrix, matrix));
    ops.push_back(memory("attention_softmax_grad", 2.0 * matrix, 2.0 * matrix));
}

/// One product of the score matrix with Q, K or V.
Op score_product(std::string_view name, const OpShapes& shapes, double products) {
    const double matrix = shapes.element * scores(shapes);
    const double operand = shapes.element * static_cast<double>(shapes.tokens * shapes.query);
    return attention_matmul(name, shapes, products * 2.0 * scores(shapes) * static_cast<double>(shapes.head_dim),
                            products * (matrix + operand), products * operand);
}

/// In the order of execution. Q, K, V, probabilities and context are kept.
void append_single_forward(const OpShapes& shapes, std::vector<Op>& ops) {
    const double matrix = shapes.element * scores(shapes);
    ops.push_back(score_product("attention_scores", shapes, 1.0));
    ops.back().saved = shapes.element * shapes.tokens * (shapes.query + 2 * shapes.kv);
    ops.push_back(memory("attention_softmax", matrix, matrix, static_cast<ByteCount>(matrix)));
    ops.push_back(score_product("attention_context", shapes, 1.0));
    ops.back().saved = shapes.element * shapes.tokens * shapes.query;
}

void append_single_backward(const OpShapes& shapes, std::vector<Op>& ops) {
    const double matrix = shapes.element * scores(shapes);
    ops.push_back(score_product("attention_context_grad", shapes, 2.0));
    ops.push_back(memory("attention_softmax_grad", 2.0 * matrix, matrix));
    ops.push_back(score_product("attention_scores_grad", shapes, 2.0));
}

}  // namespace

void append_attention_forward(const Job& job, const OpShapes& shapes, std::vector<Op>& ops) {
    switch (job.software.structure.attention) {
        case AttentionKernel::flash:
            ops.push_back(flash(job, shapes, false));
            break;
        case AttentionKernel::unfused:
            append_unfused_forward(job, shapes, ops);
            break;
        case AttentionKernel::single:
            append_single_forward(shapes, ops);
            break;
    }
    append_kv_exchange(job, shapes, ops, 1.0);
}

void append_attention_backward(const Job& job, const OpShapes& shapes, std::vector<Op>& ops) {
    switch (job.software.structure.attention) {
        case AttentionKernel::flash:
            ops.push_back(flash(job, shapes, true));
            break;
        case AttentionKernel::unfused:
            append_unfused_backward(job, shapes, ops);
            break;
        case AttentionKernel::single:
            append_single_backward(shapes, ops);
            break;
    }
    append_kv_exchange(job, shapes, ops, 2.0);
}

}  // namespace foreshard
