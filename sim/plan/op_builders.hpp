#pragma once

#include "sim/plan/op_graph.hpp"

/// Small constructors of ops, shared by the files that lower a kind of block.
namespace foreshard {

/// Dense product of an (m, k) activation with a (k, n) weight.
Op gemm(std::string_view name, std::int64_t m, std::int64_t n, std::int64_t k, int element, std::int64_t batch = 1);

/// A memory-bound kernel: bytes read and written.
Op memory(std::string_view name, double read, double written, ByteCount saved = 0);

Op collective(std::string_view name, CollectiveKind kind, Axis axis, double message);

/// The three passes of a linear layer y(T, n) = x(T, k) W.
struct Linear {
    Op forward;
    Op input_grad;
    Op weight_grad;
};
Linear linear(std::string_view forward, std::string_view dgrad, std::string_view wgrad, std::int64_t tokens,
              std::int64_t n, std::int64_t k, int element, std::int64_t batch = 1);

/// Tensor parallelism around a pair of column- and row-parallel linears (Megatron-LM mappings.py): with sequence
/// parallelism all-gather before and reduce-scatter after, else one all-reduce after; mirrored in backward.
class TensorParallel {
public:
    TensorParallel(const Job& job, const OpShapes& shapes);

    void enter_forward(std::vector<Op>& ops) const;   ///< before a column-parallel linear
    void leave_forward(std::vector<Op>& ops) const;   ///< after a row-parallel linear
    void enter_backward(std::vector<Op>& ops) const;  ///< gradient of leave_forward
    void leave_backward(std::vector<Op>& ops) const;  ///< gradient of enter_forward

private:
    int tp_ = 1;
    bool sequence_parallel_ = false;
    double message_ = 0.0;
    double regather_share_ = 0.0;
};

/// Attention core: score and context products, softmax, dropout (or one flash kernel), KV exchange of CP.
void append_attention_forward(const Job& job, const OpShapes& shapes, std::vector<Op>& ops);
void append_attention_backward(const Job& job, const OpShapes& shapes, std::vector<Op>& ops);

/// Bytes per element of these kernels were measured (stage times of sail-sg/VocabularyParallelism: loss 46-49 bytes
/// forward, 15-30 backward; embedding gradient 10.5 bytes a parameter); a framework's factor on layers does not apply.
Op measured(Op op);

/// Cross-entropy of the rank's logits, forward and the gradient of the logits.
void append_loss(const Job& job, const OpShapes& shapes, OpBlock& block);

/// Feed-forward of a dense layer and of a mixture-of-experts layer.
/// Adds what fp32 gradients move beside a GEMM that gives them in 16 bits, as the tables of kernels do: 4 bytes read
/// and 4 written a parameter instead of 2 written (Megatron-LM fused_weight_gradient_mlp_cuda; a cast in front of the
/// reduction where a framework does not accumulate moves as much).
void append_accumulation(const Job& job, std::int64_t parameters, std::vector<Op>& ops);
/// Kept by an MLP's activation whose output takes `output` bytes: that, and the activated gate of an unfused SwiGLU.
ByteCount activation_saved(const Job& job, ByteCount output);
void append_mlp(const Job& job, const OpShapes& shapes, OpBlock& block);
void append_mlp_backward(const Job& job, const OpShapes& shapes, OpBlock& block);
void append_experts(const Job& job, const OpShapes& shapes, OpBlock& block);
void append_experts_backward(const Job& job, const OpShapes& shapes, OpBlock& block);

}  // namespace foreshard
