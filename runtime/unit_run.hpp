#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/data.hpp"
#include "runtime/op_spans.hpp"
#include "runtime/parameter_store.hpp"
#include "sim/plan/op_graph.hpp"

/// Internal to the op kernels: the tensors of one unit (a layer, the embedding or the head) for one micro-batch, and
/// what a kernel needs beside them.
namespace foreshard::runtime {

/// Tensors of a unit. T tokens, t of them on this rank under sequence parallelism (else t = T); h hidden, f MLP width
/// of the rank, q and k query and KV width of the rank, V vocabulary rows of the rank.
enum class Slot : std::uint8_t {
    input,   ///< (t, h)
    middle,  ///< (t, h) after the attention's residual
    sum,     ///< (t, h) after the MLP's residual; embedding: sum of embeddings
    norm1,   ///< (t, h); embedding and head: output of their norm
    norm1_statistics,
    norm2,
    norm2_statistics,
    gathered,  ///< (T, h) input of a linear under sequence parallelism
    qkv,       ///< (T, q + 2k)
    scores,    ///< (b heads s, s), then probabilities
    log_sum,   ///< (b heads s, 1) of flash attention
    context,   ///< (T, q)
    branch,    ///< (T, h), then (t, h): output of attention or MLP before its residual
    fc1,       ///< (T, inner); head of an encoder: transform before its activation
    activated,
    logits,  ///< (T, V), then probabilities, then their gradient
    softmax_maximum,
    softmax_sum,
    softmax_target,
    grad,             ///< (t, h) of the unit's output, in the end of its input
    grad_linear,      ///< (T, h), then (t, h): of the input of a linear
    grad_activated,   ///< (T, f)
    grad_context,     ///< (T, q)
    grad_scores,      ///< like scores
    grad_projection,  ///< (T, h), from here on what a split backward keeps for W
    grad_fc2,         ///< (T, h)
    grad_qkv,         ///< (T, q + 2k)
    grad_fc1,         ///< (T, inner)
    grad_transform,   ///< (t, h)
    gathered_norm1,   ///< (T, h) inputs of linears, gathered again
    gathered_norm2,
    count
};

class UnitState {
public:
    Buffer& operator[](Slot slot) { return slots_[static_cast<std::size_t>(slot)]; }
    void clear();
    void clear_but(Slot kept);

private:
    std::array<Buffer, static_cast<std::size_t>(Slot::count)> slots_;
};

/// What all units of a rank share.
struct RankContext {
    const Job& job;
    Device& device;
    MemoryPool& pool;
    Transport& transport;
    OpShapes shapes;
    AttentionShape attention;
    std::vector<int> tp_group;  ///< global ranks
    int tp = 0;                 ///< place in it
    bool sequence_parallel = false;
    bool post_norm = false;  ///< norms behind residuals, as in BERT
    VocabularyPart vocabulary;
    double loss_scale = 1.0;  ///< one over the learnt tokens of the global batch
    Tensor loss;              ///< of the step, (1, 1) of fp64
    /// Where the embedding matrix lies that an output layer without a matrix of its own uses.
    ParameterStore* table_store = nullptr;
    int table_unit = 0;
};

/// A unit at work: in one pass on one micro-batch.
struct UnitRun {
    RankContext& rank;
    ParameterStore& parameters;
    int unit = 0;
    BlockKind kind = BlockKind::layer;
    bool keeps_scores = true;  ///< false: recomputed in backward
    UnitState& state;
    const MicroBatch& data;
    std::string_view op = {};
    int norms = 0;  ///< kernels of this kind that have run in the pass
    int residuals = 0;
    int norm_grads = 0;
    int residual_grads = 0;
    int loss_reductions = 0;
    std::optional<CallSpan> call = {};  ///< of the op at work, where it communicates

    Device& device() const { return rank.device; }
    bool has(Slot slot) const { return static_cast<bool>(state[slot]); }
    /// @throws std::logic_error naming the op, outside the tensor's lifetime
    Tensor tensor(Slot slot) const;
    Tensor make(Slot slot, std::int64_t rows, std::int64_t columns) {
        return make(slot, rows, columns, device().type());
    }
    Tensor make(Slot slot, std::int64_t rows, std::int64_t columns, ElementType type);
    /// Of the state's type.
    Tensor make_state(Slot slot, std::int64_t rows, std::int64_t columns) {
        return make(slot, rows, columns, device().state_type());
    }
    Elements elements(Slot slot) const { return {state[slot].span(), state[slot].tensor().type}; }
    void drop(Slot slot) { state[slot].reset(); }
    void move(Slot from, Slot to) { state[to] = std::move(state[from]); }
    Tensor weight(ParameterId id) const { return parameters.weight(unit, id); }
    Affine affine(ParameterId weight, ParameterId bias) const;
    Affine affine_grad(ParameterId weight, ParameterId bias) const;

    std::int64_t tokens() const { return rank.shapes.tokens; }
    std::int64_t shard_tokens() const { return rank.shapes.shard_tokens; }
    std::int64_t hidden() const { return rank.shapes.hidden; }
    /// The rank's tokens under sequence parallelism.
    std::span<const std::int32_t> shard(const std::vector<std::int32_t>& ids) const;
};

/// Where the tensors around attention (half 0) and MLP (half 1) of a layer lie. Norms stand in front of each branch, or
/// behind each residual.
Slot linear_input(const UnitRun& run, int half);
Slot residual_source(const UnitRun& run, int half);
Slot norm_input(const UnitRun& run, int index);
inline Slot norm_output(int index) {
    return index == 0 ? Slot::norm1 : Slot::norm2;
}
inline Slot norm_statistics(int index) {
    return index == 0 ? Slot::norm1_statistics : Slot::norm2_statistics;
}
inline Slot kept_grad(int half) {
    return half == 0 ? Slot::grad_projection : Slot::grad_fc2;
}
inline Slot gathered_again(int half) {
    return half == 0 ? Slot::gathered_norm1 : Slot::gathered_norm2;
}
/// Output of the unit; not of the head.
Slot unit_output(const UnitRun& run);
/// The branch that a pass is in.
int forward_half(const UnitRun& run);
int backward_half(const UnitRun& run);

using OpKernel = void (*)(UnitRun&);

/// The kernel of an op of the task graph; nullptr when the runtime has none.
OpKernel find_kernel(std::string_view op);

/// An op and its kernel; the lists of each family.
struct NamedKernel {
    std::string_view name;
    OpKernel kernel;
};
std::span<const NamedKernel> layer_kernels();
std::span<const NamedKernel> attention_kernels();
std::span<const NamedKernel> end_kernels();
std::span<const NamedKernel> collective_kernels();

/// Keeps when a call of the transport was made, met and done, as the op's.
template <class Call>
void time_call(UnitRun& run, const Call& call) {
    CallSpan span;
    span.issued = Clock::now();
    const Met met = call();
    span.end = Clock::now();
    span.met = std::clamp(met.at, span.issued, span.end);
    run.call = span;
}

/// Shared by kernels of several families.
void finish_embedding(UnitRun& run);
void embedding_inputs_grad(UnitRun& run);
void reduce_loss(UnitRun& run);

}  // namespace foreshard::runtime
