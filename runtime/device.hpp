#pragma once

#include <chrono>
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

/// Whether the times of tasks are taken.
enum class Recording : std::uint8_t { on, off };

/// Kernels work on row-major matrices. T tokens are rows. Activations, their gradients and weights are of type();
/// gradients of parameters, moments, master weights and statistics (of norms and softmax) of state_type(). Gradients of
/// parameters are added to what is there, everything else is overwritten.
///
/// A device that blocks may be called from several threads at a time. One that runs behind is called from one thread:
/// calls return at once and go to the queue chosen last, which works in order; spans of ids are copied before a call
/// returns; memory is released to those who are given it later on, with the order between queues kept.
class Device {
public:
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;

    /// Of activations and weights.
    virtual ElementType type() const = 0;
    ElementType state_type() const { return state_type_of(type()); }
    virtual MathMode math() const { return MathMode::exact; }

    virtual bool runs_behind() const { return false; }
    /// What is issued until end_run belongs together, e.g. to one captured graph; it begins and ends on queue 0.
    virtual void begin_run(Recording /*recording*/) {}
    /// Returns when all that was issued is done.
    virtual void end_run() {}
    /// The queue of the calls that follow. 0 is for compute; the work of others is placed first when both are waiting.
    virtual void use_queue(int /*queue*/) {}
    /// The queue in use, as in arena.hpp; 0 where calls are done when they return.
    virtual int queue() const { return 0; }
    /// What is issued on the queue in use from now on starts behind all that was issued on the other.
    virtual void await(int /*queue*/) {}
    /// Sets a mark behind all that was issued on the queue in use; marks are numbers from 0 on, and may be set again.
    virtual void record(int /*mark*/) {}
    /// What is issued on the queue in use from now on starts behind the mark.
    virtual void wait(int /*mark*/) {}
    /// Takes the time when the queue in use gets here; indices from 0 on.
    virtual void stamp(int index) = 0;
    /// Of all indices of the run that ended last, on the host's clock.
    virtual std::vector<std::chrono::steady_clock::time_point> stamps(int count) = 0;
    /// What is issued until leave() is called so in the timelines of profilers.
    virtual void enter(const std::string& /*name*/) {}
    virtual void leave() {}

    /// A range of memory, of which tensors get parts (memory_pool.hpp). @throws OutOfMemory
    virtual std::byte* allocate(std::size_t bytes) = 0;
    virtual void release(std::byte* data, std::size_t bytes) = 0;
    /// No tensor lies there from now on, or one does: what watches over memory may report uses.
    virtual void forbid(std::byte* /*data*/, std::size_t /*bytes*/) {}
    virtual void permit(std::byte* /*data*/, std::size_t /*bytes*/) {}
    /// Bytes to leave behind every tensor, so that a use beyond its end is seen.
    virtual std::size_t gap() const { return 0; }
    /// Tensors of any type. store and load block, and are not for use inside a run.
    virtual void store(Tensor to, std::span<const double> values) = 0;
    virtual std::vector<double> load(Tensor from) const = 0;
    virtual void fill(Tensor to, double value) = 0;
    /// Types may differ.
    virtual void copy(Tensor from, Tensor to) = 0;
    /// Of one type.
    virtual void add(Tensor from, Tensor to) = 0;
    /// The first element becomes twice itself and one: a fault on purpose.
    virtual void spoil(Tensor tensor) = 0;

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

    /// Attention without the score matrix. log_sum(sequences heads seq, 1), of the state's type, is the logarithm of
    /// the sum of exp(score) over the keys that a query sees.
    virtual void flash_attention(const AttentionShape& shape, Tensor qkv, Tensor context, Tensor log_sum) = 0;
    /// All columns of dqkv.
    virtual void flash_attention_grad(const AttentionShape& shape, Tensor qkv, Tensor context, Tensor log_sum,
                                      Tensor dcontext, Tensor dqkv) = 0;

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
    /// Exponentials and sums are scaled from the rank's maxima, in parts, to those of all ranks. Either may be none. In
    /// place of exponentials any matrix with a row a token that is linear in them may stand.
    virtual void softmax_rescale(Tensor maximum, Tensor logits, SoftmaxParts parts) = 0;
    /// Exponentials, or what is linear in them, are divided by the sums of all ranks.
    virtual void softmax_divide(Tensor sum, Tensor logits) = 0;
    /// loss(1, 1), of fp64, += scale sum over learnt tokens of log(sum) + maximum - target.
    virtual void cross_entropy(std::span<const std::int32_t> targets, SoftmaxParts parts, double scale,
                               Tensor loss) = 0;
    /// In place: probabilities to scale (probability - 1[target]), 0 for tokens that are not learnt.
    virtual void cross_entropy_grad(std::span<const std::int32_t> targets, VocabularyPart part, double scale,
                                    Tensor probabilities) = 0;

    /// AdamW (Loshchilov and Hutter, arXiv 1711.05101, as in torch.optim.AdamW), element by element. All are of
    /// state_type() but the copy of the new weight in type(), which may be none.
    virtual void adamw(const AdamStep& step, Tensor gradient, Tensor first_moment, Tensor second_moment, Tensor weight,
                       Tensor copy) = 0;
    /// weight -= learning_rate gradient; the copy as above.
    virtual void sgd(double learning_rate, Tensor gradient, Tensor weight, Tensor copy) = 0;
};

}  // namespace foreshard::runtime
