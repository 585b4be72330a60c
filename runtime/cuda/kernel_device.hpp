#pragma once

#include "runtime/cuda/gemm.hpp"
#include "runtime/cuda/queue.hpp"
#include "runtime/device.hpp"

/// What every device with CUDA's kernels has in common: ops as kernels and matrix products.
namespace foreshard::runtime::cuda {

/// What is left to a real GPU, or to the processor that stands for one in tests: memory, queues and matrix products.
class KernelDevice : public Device {
public:
    explicit KernelDevice(ElementType type) : type_(type) {}
    ElementType type() const final { return type_; }

    void fill(Tensor to, double value) final;
    void copy(Tensor from, Tensor to) final;
    void add(Tensor from, Tensor to) final;
    void spoil(Tensor tensor) final;

    void linear(Tensor x, Affine w, Tensor y) final;
    void linear_input_grad(Tensor dy, Tensor w, Tensor dx) final;
    void linear_weight_grad(Tensor dy, Tensor x, Affine dw) final;
    void bias_grad(Tensor dy, Tensor bias) final;

    void norm_statistics(NormKind kind, Tensor x, Tensor statistics) final;
    void norm(NormKind kind, Tensor x, Tensor statistics, Affine w, Tensor y) final;
    void norm_grad(NormKind kind, Tensor dy, Tensor x, Tensor statistics, Tensor weight, Tensor residual, Tensor dx,
                   Affine dw) final;

    void rotate(const AttentionShape& shape, Tensor qkv, Turn turn) final;
    void attention_scores(const AttentionShape& shape, Tensor qkv, Tensor scores) final;
    void attention_softmax(const AttentionShape& shape, Tensor scores) final;
    void attention_context(const AttentionShape& shape, Tensor qkv, Tensor probabilities, Tensor context) final;
    void attention_context_grad(const AttentionShape& shape, Tensor qkv, Tensor probabilities, Tensor dcontext,
                                Tensor dprobabilities, Tensor dqkv) final;
    void attention_softmax_grad(const AttentionShape& shape, Tensor probabilities, Tensor dprobabilities) final;
    void attention_scores_grad(const AttentionShape& shape, Tensor qkv, Tensor dscores, Tensor dqkv) final;
    void flash_attention(const AttentionShape& shape, Tensor qkv, Tensor context, Tensor log_sum) final;
    void flash_attention_grad(const AttentionShape& shape, Tensor qkv, Tensor context, Tensor log_sum, Tensor dcontext,
                              Tensor dqkv) final;

    void activation(ActivationKind kind, Tensor x, Tensor y) final;
    void activation_grad(ActivationKind kind, Tensor x, Tensor dy, Tensor dx) final;
    void add_residual(Tensor x, Tensor branch, Tensor bias, Tensor y) final;

    void take_rows(std::span<const std::int32_t> ids, std::int32_t first, Tensor table, Tensor y) final;
    void add_rows(std::span<const std::int32_t> ids, Tensor table, Tensor y) final;
    void rows_grad(std::span<const std::int32_t> ids, std::int32_t first, Tensor dy, Tensor table) final;

    void softmax_parts(std::span<const std::int32_t> targets, VocabularyPart part, Tensor logits,
                       SoftmaxParts parts) final;
    void softmax_rescale(Tensor maximum, Tensor logits, SoftmaxParts parts) final;
    void softmax_divide(Tensor sum, Tensor logits) final;
    void cross_entropy(std::span<const std::int32_t> targets, SoftmaxParts parts, double scale, Tensor loss) final;
    void cross_entropy_grad(std::span<const std::int32_t> targets, VocabularyPart part, double scale,
                            Tensor probabilities) final;

    void adamw(const AdamStep& step, Tensor gradient, Tensor first_moment, Tensor second_moment, Tensor weight,
               Tensor copy) final;
    void sgd(double learning_rate, Tensor gradient, Tensor weight, Tensor copy) final;

    /// The stream in use.
    virtual Queue stream_in_use() const = 0;

protected:
    virtual void multiply(const Gemm& gemm) = 0;
    /// Whether multiply can add a bias.
    virtual bool adds_bias() const = 0;
    /// To the device's memory, in the order of the queue in use; lives until the run ends.
    virtual const std::int32_t* upload(std::span<const std::int32_t> ids) = 0;
    virtual void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) = 0;

private:
    Gemm gemm(std::int64_t rows, std::int64_t columns, std::int64_t inner) const;
    /// Batches of KV heads, one for every member of their groups and every sequence.
    template <class Set>
    void multiply_heads(const AttentionShape& shape, Gemm gemm, const Set& set);

    ElementType type_;
};

}  // namespace foreshard::runtime::cuda
