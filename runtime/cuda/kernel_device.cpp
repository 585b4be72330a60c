#include "runtime/cuda/kernel_device.hpp"

#include <cmath>
#include <stdexcept>

#include "runtime/cuda/grouped_tokens.hpp"
#include "runtime/cuda/kernels.hpp"

namespace foreshard::runtime::cuda {

namespace {

bool centred(NormKind kind) {
    return kind == NormKind::layer_norm;
}

Heads heads_of(const AttentionShape& shape) {
    return {shape.sequences, shape.seq,      shape.heads,
            shape.kv_heads,  shape.head_dim, shape.mask == AttentionMask::causal};
}

Vocabulary vocabulary_of(VocabularyPart part) {
    return {part.first, part.valid};
}

GemmOperand matrix(Tensor tensor, bool transposed = false) {
    return {tensor.data, tensor.columns, 0, transposed};
}

}  // namespace

void KernelDevice::fill(Tensor to, double value) {
    kernels::fill(stream_in_use(), to, value);
}
void KernelDevice::copy(Tensor from, Tensor to) {
    if (from.type == to.type) {
        copy_bytes(from.data, to.data, static_cast<std::size_t>(from.bytes()));
    } else {
        kernels::convert(stream_in_use(), from, to);
    }
}
void KernelDevice::add(Tensor from, Tensor to) {
    kernels::add(stream_in_use(), from, to);
}
void KernelDevice::spoil(Tensor tensor) {
    kernels::spoil(stream_in_use(), tensor);
}

Gemm KernelDevice::gemm(std::int64_t rows, std::int64_t columns, std::int64_t inner) const {
    Gemm gemm;
    gemm.rows = rows;
    gemm.columns = columns;
    gemm.inner = inner;
    gemm.type = gemm.out = type_;
    return gemm;
}

void KernelDevice::linear(Tensor x, Affine w, Tensor y) {
    Gemm product = gemm(y.rows, y.columns, x.columns);
    product.a = matrix(x);
    product.b = matrix(w.weight, true);
    product.c = matrix(y);
    if (w.bias && adds_bias()) product.bias = w.bias.data;
    multiply(product);
    if (w.bias && !adds_bias()) kernels::add_residual(stream_in_use(), {}, y, w.bias, y);
}

void KernelDevice::linear_input_grad(Tensor dy, Tensor w, Tensor dx) {
    Gemm product = gemm(dx.rows, dx.columns, dy.columns);
    product.a = matrix(dy);
    product.b = matrix(w);
    product.c = matrix(dx);
    multiply(product);
}

void KernelDevice::linear_weight_grad(Tensor dy, Tensor x, Affine dw) {
    Gemm product = gemm(dw.weight.rows, dw.weight.columns, dy.rows);
    product.a = matrix(dy, true);
    product.b = matrix(x);
    product.c = matrix(dw.weight);
    product.beta = 1.0;
    product.out = dw.weight.type;
    multiply(product);
    if (dw.bias) bias_grad(dy, dw.bias);
}

void KernelDevice::bias_grad(Tensor dy, Tensor bias) {
    kernels::bias_grad(stream_in_use(), dy, bias);
}

void KernelDevice::norm_statistics(NormKind kind, Tensor x, Tensor statistics) {
    kernels::norm_statistics(stream_in_use(), centred(kind), x, statistics);
}
void KernelDevice::norm(NormKind /*kind*/, Tensor x, Tensor statistics, Affine w, Tensor y) {
    kernels::norm(stream_in_use(), x, statistics, w.weight, w.bias, y);
}
void KernelDevice::norm_grad(NormKind kind, Tensor dy, Tensor x, Tensor statistics, Tensor weight, Tensor residual,
                             Tensor dx, Affine dw) {
    kernels::norm_grad(stream_in_use(), centred(kind), dy, x, statistics, weight, residual, dx, dw.weight, dw.bias);
}

void KernelDevice::rotate(const AttentionShape& shape, Tensor qkv, Turn turn) {
    kernels::rotate(stream_in_use(), heads_of(shape), qkv, turn == Turn::backward);
}

/// set(gemm, sequence, head, KV head, first of its group) places the operands of the first KV head.
template <class Set>
void KernelDevice::multiply_heads(const AttentionShape& shape, Gemm gemm, const Set& set) {
    const Heads heads = heads_of(shape);
    gemm.batch = static_cast<int>(heads.kv_heads);
    for (std::int64_t sequence = 0; sequence < heads.sequences; ++sequence) {
        for (std::int64_t member = 0; member < heads.group(); ++member) {
            set(gemm, heads, sequence, member);
            multiply(gemm);
        }
    }
}

namespace {

std::byte* element(Tensor tensor, std::int64_t index) {
    return tensor.data + index * static_cast<std::int64_t>(element_bytes(tensor.type));
}

/// Columns of one query head of every group, or of every KV head.
GemmOperand queries(const Heads& heads, Tensor qkv, std::int64_t sequence, std::int64_t member) {
    return {element(qkv, heads.query(sequence, member)), heads.width(), heads.group() * heads.dim, false};
}
GemmOperand keys(const Heads& heads, Tensor qkv, std::int64_t sequence) {
    return {element(qkv, heads.key(sequence, 0)), heads.width(), heads.dim, false};
}
GemmOperand values(const Heads& heads, Tensor qkv, std::int64_t sequence) {
    return {element(qkv, heads.value(sequence, 0)), heads.width(), heads.dim, false};
}
GemmOperand contexts(const Heads& heads, Tensor context, std::int64_t sequence, std::int64_t member) {
    return {element(context, heads.context(sequence, member)), heads.context_width(), heads.group() * heads.dim, false};
}
GemmOperand score_matrices(const Heads& heads, Tensor scores, std::int64_t sequence, std::int64_t member) {
    return {element(scores, heads.score_row(sequence, member) * heads.seq), heads.seq,
            heads.group() * heads.seq * heads.seq, false};
}

GemmOperand transposed(GemmOperand operand) {
    operand.transposed = true;
    return operand;
}

double score_scale(const AttentionShape& shape) {
    return 1.0 / std::sqrt(static_cast<double>(shape.head_dim));
}

}  // namespace

void KernelDevice::attention_scores(const AttentionShape& shape, Tensor qkv, Tensor scores) {
    Gemm product = gemm(shape.seq, shape.seq, shape.head_dim);
    product.alpha = score_scale(shape);
    multiply_heads(shape, product, [&](Gemm& g, const Heads& heads, std::int64_t sequence, std::int64_t member) {
        g.a = queries(heads, qkv, sequence, member);
        g.b = transposed(keys(heads, qkv, sequence));
        g.c = score_matrices(heads, scores, sequence, member);
    });
}

void KernelDevice::attention_softmax(const AttentionShape& shape, Tensor scores) {
    kernels::score_softmax(stream_in_use(), heads_of(shape), scores);
}

void KernelDevice::attention_context(const AttentionShape& shape, Tensor qkv, Tensor probabilities, Tensor context) {
    const Gemm product = gemm(shape.seq, shape.head_dim, shape.seq);
    multiply_heads(shape, product, [&](Gemm& g, const Heads& heads, std::int64_t sequence, std::int64_t member) {
        g.a = score_matrices(heads, probabilities, sequence, member);
        g.b = values(heads, qkv, sequence);
        g.c = contexts(heads, context, sequence, member);
    });
}

/// The first member of a group sets the gradient of its values, the others add to it.
void KernelDevice::attention_context_grad(const AttentionShape& shape, Tensor qkv, Tensor probabilities,
                                          Tensor dcontext, Tensor dprobabilities, Tensor dqkv) {
    multiply_heads(shape, gemm(shape.seq, shape.seq, shape.head_dim),
                   [&](Gemm& g, const Heads& heads, std::int64_t sequence, std::int64_t member) {
                       g.a = contexts(heads, dcontext, sequence, member);
                       g.b = transposed(values(heads, qkv, sequence));
                       g.c = score_matrices(heads, dprobabilities, sequence, member);
                   });
    multiply_heads(shape, gemm(shape.seq, shape.head_dim, shape.seq),
                   [&](Gemm& g, const Heads& heads, std::int64_t sequence, std::int64_t member) {
                       g.a = transposed(score_matrices(heads, probabilities, sequence, member));
                       g.b = contexts(heads, dcontext, sequence, member);
                       g.c = values(heads, dqkv, sequence);
                       g.beta = member > 0 ? 1.0 : 0.0;
                   });
}

void KernelDevice::attention_softmax_grad(const AttentionShape& /*shape*/, Tensor probabilities,
                                          Tensor dprobabilities) {
    kernels::score_softmax_grad(stream_in_use(), probabilities, dprobabilities);
}

void KernelDevice::attention_scores_grad(const AttentionShape& shape, Tensor qkv, Tensor dscores, Tensor dqkv) {
    Gemm product = gemm(shape.seq, shape.head_dim, shape.seq);
    product.alpha = score_scale(shape);
    multiply_heads(shape, product, [&](Gemm& g, const Heads& heads, std::int64_t sequence, std::int64_t member) {
        g.a = score_matrices(heads, dscores, sequence, member);
        g.b = keys(heads, qkv, sequence);
        g.c = queries(heads, dqkv, sequence, member);
    });
    multiply_heads(shape, product, [&](Gemm& g, const Heads& heads, std::int64_t sequence, std::int64_t member) {
        g.a = transposed(score_matrices(heads, dscores, sequence, member));
        g.b = queries(heads, qkv, sequence, member);
        g.c = keys(heads, dqkv, sequence);
        g.beta = member > 0 ? 1.0 : 0.0;
    });
}

void KernelDevice::flash_attention(const AttentionShape& shape, Tensor qkv, Tensor context, Tensor log_sum) {
    kernels::flash(stream_in_use(), heads_of(shape), qkv, context, log_sum);
}
void KernelDevice::flash_attention_grad(const AttentionShape& shape, Tensor qkv, Tensor context, Tensor log_sum,
                                        Tensor dcontext, Tensor dqkv) {
    kernels::flash_grad(stream_in_use(), heads_of(shape), qkv, context, log_sum, dcontext, dqkv);
}

void KernelDevice::activation(ActivationKind kind, Tensor x, Tensor y) {
    kernels::activation(stream_in_use(), kind == ActivationKind::swiglu, x, y);
}
void KernelDevice::activation_grad(ActivationKind kind, Tensor x, Tensor dy, Tensor dx) {
    kernels::activation_grad(stream_in_use(), kind == ActivationKind::swiglu, x, dy, dx);
}
void KernelDevice::add_residual(Tensor x, Tensor branch, Tensor bias, Tensor y) {
    kernels::add_residual(stream_in_use(), x, branch, bias, y);
}

void KernelDevice::take_rows(std::span<const std::int32_t> ids, std::int32_t first, Tensor table, Tensor y) {
    kernels::take_rows(stream_in_use(), upload(ids), first, table, y);
}
void KernelDevice::add_rows(std::span<const std::int32_t> ids, Tensor table, Tensor y) {
    kernels::add_rows(stream_in_use(), upload(ids), table, y);
}
void KernelDevice::rows_grad(std::span<const std::int32_t> ids, std::int32_t first, Tensor dy, Tensor table) {
    const TokenGroups groups = group_tokens(ids, first, table.rows);
    if (groups.groups == 0) return;
    const std::int32_t* array = upload(groups.array);
    kernels::rows_grad(stream_in_use(), {groups.groups, array, array + groups.bounds_at(), array + groups.tokens_at()},
                       dy, table);
}

void KernelDevice::softmax_parts(std::span<const std::int32_t> targets, VocabularyPart part, Tensor logits,
                                 SoftmaxParts parts) {
    kernels::softmax_parts(stream_in_use(), upload(targets), vocabulary_of(part), logits, parts.maximum, parts.sum,
                           parts.target);
}
void KernelDevice::softmax_rescale(Tensor maximum, Tensor logits, SoftmaxParts parts) {
    if (logits) kernels::softmax_rescale_logits(stream_in_use(), maximum, logits, parts.maximum);
    if (parts.sum) kernels::softmax_rescale_sums(stream_in_use(), maximum, parts.maximum, parts.sum);
}
void KernelDevice::softmax_divide(Tensor sum, Tensor logits) {
    kernels::softmax_divide(stream_in_use(), sum, logits);
}
void KernelDevice::cross_entropy(std::span<const std::int32_t> targets, SoftmaxParts parts, double scale, Tensor loss) {
    kernels::cross_entropy(stream_in_use(), upload(targets), parts.maximum, parts.sum, parts.target, scale, loss);
}
void KernelDevice::cross_entropy_grad(std::span<const std::int32_t> targets, VocabularyPart part, double scale,
                                      Tensor probabilities) {
    kernels::cross_entropy_grad(stream_in_use(), upload(targets), vocabulary_of(part), scale, probabilities);
}

void KernelDevice::adamw(const AdamStep& step, Tensor gradient, Tensor first_moment, Tensor second_moment,
                         Tensor weight, Tensor copy) {
    const auto steps = static_cast<double>(step.step);
    const kernels::AdamScalars scalars{step.learning_rate,
                                       step.beta1,
                                       step.beta2,
                                       step.epsilon,
                                       1.0 - step.learning_rate * step.weight_decay,
                                       1.0 / (1.0 - std::pow(step.beta1, steps)),
                                       1.0 / (1.0 - std::pow(step.beta2, steps))};
    kernels::adamw(stream_in_use(), scalars, gradient, first_moment, second_moment, weight, copy);
}
void KernelDevice::sgd(double learning_rate, Tensor gradient, Tensor weight, Tensor copy) {
    kernels::sgd(stream_in_use(), learning_rate, gradient, weight, copy);
}

}  // namespace foreshard::runtime::cuda
