#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/element.hpp"
#include "runtime/tensor.hpp"
#include "sim/spec/model_spec.hpp"

/// The seam to what computes: memory, and the kernels that ops are made of.
namespace foreshard::runtime {

/// Layout of a packed (tokens, (heads + 2 kv_heads) head_dim) matrix of queries, keys and values: whole sequences one
/// after another; queries first, then keys, then values. Query head i reads KV head i / (heads / kv_heads).
struct AttentionShape {
    std::int64_t sequences = 1;
    std::int64_t seq = 0;  ///< tokens of one
    std::int64_t heads = 1;
    std::int64_t kv_heads = 1;
    std::int64_t head_dim = 0;
    AttentionMask mask = AttentionMask::causal;

    std::int64_t query_width() const { return heads * head_dim; }
    std::int64_t kv_width() const { return kv_heads * head_dim; }
    /// Rows of a score matrix (sequences heads seq, seq).
    std::int64_t score_rows() const { return sequences * heads * seq; }
};

/// Weight and bias, or their gradients; the bias may be none.
struct Affine {
    Tensor weight;
    Tensor bias;
};

enum class ActivationKind : std::uint8_t {
    gelu,    ///< x Phi(x), with the error function
    swiglu,  ///< silu(gate) up, of columns (gate, up)
};

enum class Turn : std::uint8_t { forward, backward };

/// Columns of the output layer that a rank holds.
struct VocabularyPart {
    std::int32_t first = 0;  ///< token id of the first
    std::int64_t valid = 0;  ///< columns that are tokens; the rest is padding, and never gets probability
};

/// Statistics of a softmax that is spread over ranks, (tokens, 1) each.
struct SoftmaxParts {
    Tensor maximum;  ///< of the logits
    Tensor sum;      ///< of exp(logit - maximum)
    Tensor target;   ///< logit of the target token; 0 where another rank has it
};

struct AdamStep {
    double learning_rate = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0.0;  ///< decoupled
    std::int64_t step = 1;      ///< counted from 1
};

/// Targets below zero are not learnt.
inline constexpr std::int32_t no_target = -1;

/// The device has no room for a tensor.
class OutOfMemory : public std::runtime_error {
public:
    explicit OutOfMemory(std::size_t bytes)
        : std::runtime_error("out of memory: no room for a tensor of " + std::to_string(bytes) + " bytes") {}
};

/// Kernels work on row-major matrices of one element type. T tokens are rows. Gradients of parameters are added to what
/// is there, everything else is overwritten. Calls from several threads may run at a time.
class Device {
public:
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;

    virtual ElementType type() const = 0;

    /// A range of memory, of which tensors get parts (memory_pool.hpp). @throws OutOfMemory
    virtual std::byte* allocate(std::size_t bytes) = 0;
    virtual void release(std::byte* data, std::size_t bytes) = 0;
    /// No tensor lies there from now on, or one does: what watches over memory may report uses.
    virtual void forbid(std::byte* /*data*/, std::size_t /*bytes*/) {}
    virtual void permit(std::byte* /*data*/, std::size_t /*bytes*/) {}
    /// Bytes to leave behind every tensor, so that a use beyond its end is seen.
    virtual std::size_t gap() const { return 0; }
    /// The queue that kernels of the calling thread go to, as in arena.hpp. 0 where kernels are done when they return.
    virtual int queue() const { return 0; }
    /// Kernels of the calling thread's queue from now on run after those that `queue` has now.
    virtual void await(int /*queue*/) {}
    virtual void store(Tensor to, std::span<const double> values) = 0;
    virtual std::vector<double> load(Tensor from) const = 0;
    virtual void fill(Tensor to, double value) = 0;
    virtual void copy(Tensor from, Tensor to) = 0;
    virtual void add(Tensor from, Tensor to) = 0;

    /// y(T, n) = x(T, k) w(n, k)^T + bias(1, n).
    virtual void linear(Tensor x, Affine w, Tensor y) = 0;
    /// dx(T, k) = dy(T, n) w(n, k).
    virtual void linear_input_grad(Tensor dy, Tensor w, Tensor dx) = 0;
    /// dw(n, k) += dy(T, n)^T x(T, k); bias gradient += column sums of dy.
    virtual void linear_weight_grad(Tensor dy, Tensor x, Affine dw) = 0;
    /// bias(1, n) += column sums of dy(T, n).
    virtual void bias_grad(Tensor dy, Tensor bias) = 0;

    /// Statistics (T, 2) of a row: mean (0 for RMSNorm) and reciprocal deviation, epsilon 1e-5.
    virtual void norm_statistics(NormKind kind, Tensor x, Tensor statistics) = 0;
    virtual void norm(NormKind kind, Tensor x, Tensor statistics, Affine w, Tensor y) = 0;
    /// dx = residual + gradient of the input; residual may be none, dx may be dy.
    virtual void norm_grad(NormKind kind, Tensor dy, Tensor x, Tensor statistics, Tensor weight, Tensor residual,
                           Tensor dx, Affine dw) = 0;

    /// Rotary embedding of queries and keys in place: pairs (i, i + head_dim / 2), base 10000; backward turns back.
    virtual void rotate(const AttentionShape& shape, Tensor qkv, Turn turn) = 0;
    /// scores(sequences heads seq, seq) = q k^T / sqrt(head_dim).
    virtual void attention_scores(const AttentionShape& shape, Tensor qkv, Tensor scores) = 0;
    /// In place; what the mask hides gets probability 0.
    virtual void attention_softmax(const AttentionShape& shape, Tensor scores) = 0;
    virtual void attention_context(const AttentionShape& shape, Tensor qkv, Tensor probabilities, Tensor context) = 0;
    /// Gradient of the probabilities, and the value columns of dqkv.
    virtual void attention_context_grad(const AttentionShape& shape, Tensor qkv, Tensor probabilities, Tensor dcontext,
                                        Tensor dprobabilities, Tensor dqkv) = 0;
    /// In place: gradient of the probabilities to that of the scores.
    virtual void attention_softmax_grad(const AttentionShape& shape, Tensor probabilities, Tensor dprobabilities) = 0;
    /// Query and key columns of dqkv.
    virtual void attention_scores_grad(const AttentionShape& shape, Tensor qkv, Tensor dscores, Tensor dqkv) = 0;

    /// y(T, f) of x(T, f), or of x(T, 2f) for swiglu.
    virtual void activation(ActivationKind kind, Tensor x, Tensor y) = 0;
    /// dx may be dy where the widths are equal.
    virtual void activation_grad(ActivationKind kind, Tensor x, Tensor dy, Tensor dx) = 0;
    /// y = x + branch + bias(1, h); y may be x or branch.
    virtual void add_residual(Tensor x, Tensor branch, Tensor bias, Tensor y) = 0;

    /// y(T, h): row ids[i] - first of the table, or zeros where the table has no such row.
    virtual void take_rows(std::span<const std::int32_t> ids, std::int32_t first, Tensor table, Tensor y) = 0;
    /// The same, added to y. Precondition: the table has every row.
    virtual void add_rows(std::span<const std::int32_t> ids, Tensor table, Tensor y) = 0;
    /// Rows of the table's gradient += rows of dy; ids that the table lacks are passed over.
    virtual void rows_grad(std::span<const std::int32_t> ids, std::int32_t first, Tensor dy, Tensor table) = 0;

    /// Statistics over a rank's columns; logits become exp(logit - maximum), 0 in padding columns.
    virtual void softmax_parts(std::span<const std::int32_t> targets, VocabularyPart part, Tensor logits,
                               SoftmaxParts parts) = 0;
    /// Maxima become those of all ranks; sums are scaled to them, and so are the exponentials.
    virtual void softmax_rescale(Tensor maximum, Tensor logits, SoftmaxParts parts) = 0;
    /// Exponentials become probabilities: divided by the sums of all ranks.
    virtual void softmax_divide(Tensor sum, Tensor logits) = 0;
    /// Sum over learnt tokens of log(sum) + maximum - target.
    virtual double cross_entropy(std::span<const std::int32_t> targets, SoftmaxParts parts) const = 0;
    /// In place: probabilities to scale (probability - 1[target]), 0 for tokens that are not learnt.
    virtual void cross_entropy_grad(std::span<const std::int32_t> targets, VocabularyPart part, double scale,
                                    Tensor probabilities) = 0;

    /// AdamW (Loshchilov and Hutter, arXiv 1711.05101, as in torch.optim.AdamW), element by element.
    virtual void adamw(const AdamStep& step, Tensor gradient, Tensor first_moment, Tensor second_moment,
                       Tensor weight) = 0;
    /// weight -= learning_rate gradient.
    virtual void sgd(double learning_rate, Tensor gradient, Tensor weight) = 0;
};

}  // namespace foreshard::runtime
