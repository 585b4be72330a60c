#pragma once

#include <cstdlib>

#include "runtime/device.hpp"

namespace foreshard::runtime::test {

/// Has memory and computes nothing: for what does not depend on numbers, such as sizes, orders and calls. Memory is
/// zero at first.
class NullDevice : public Device {
public:
    explicit NullDevice(ElementType type) : type_(type) {}

    ElementType type() const override { return type_; }
    void stamp(int /*index*/) override {}
    std::vector<std::chrono::steady_clock::time_point> stamps(int count) override {
        return std::vector<std::chrono::steady_clock::time_point>(static_cast<std::size_t>(count));
    }
    std::byte* allocate(std::size_t bytes) override;
    void release(std::byte* data, std::size_t /*bytes*/) override { std::free(data); }
    void store(Tensor /*to*/, std::span<const double> /*values*/) override {}
    std::vector<double> load(Tensor from) const override {
        return std::vector<double>(static_cast<std::size_t>(from.size()));
    }
    void fill(Tensor, double) override {}
    void copy(Tensor, Tensor) override {}
    void add(Tensor, Tensor) override {}
    void spoil(Tensor) override {}

    void linear(Tensor, Affine, Tensor) override {}
    void linear_input_grad(Tensor, Tensor, Tensor) override {}
    void linear_weight_grad(Tensor, Tensor, Affine) override {}
    void bias_grad(Tensor, Tensor) override {}
    void norm_statistics(NormKind, Tensor, Tensor) override {}
    void norm(NormKind, Tensor, Tensor, Affine, Tensor) override {}
    void norm_grad(NormKind, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Affine) override {}

    void rotate(const AttentionShape&, Tensor, Turn) override {}
    void attention_scores(const AttentionShape&, Tensor, Tensor) override {}
    void attention_softmax(const AttentionShape&, Tensor) override {}
    void attention_context(const AttentionShape&, Tensor, Tensor, Tensor) override {}
    void attention_context_grad(const AttentionShape&, Tensor, Tensor, Tensor, Tensor, Tensor) override {}
    void attention_softmax_grad(const AttentionShape&, Tensor, Tensor) override {}
    void attention_scores_grad(const AttentionShape&, Tensor, Tensor, Tensor) override {}
    void flash_attention(const AttentionShape&, Tensor, Tensor, Tensor) override {}
    void flash_attention_grad(const AttentionShape&, Tensor, Tensor, Tensor, Tensor, Tensor) override {}

    void activation(ActivationKind, Tensor, Tensor) override {}
    void activation_grad(ActivationKind, Tensor, Tensor, Tensor) override {}
    void add_residual(Tensor, Tensor, Tensor, Tensor) override {}
    void take_rows(std::span<const std::int32_t>, std::int32_t, Tensor, Tensor) override {}
    void add_rows(std::span<const std::int32_t>, Tensor, Tensor) override {}
    void rows_grad(std::span<const std::int32_t>, std::int32_t, Tensor, Tensor) override {}
    void softmax_parts(std::span<const std::int32_t>, VocabularyPart, Tensor, SoftmaxParts) override {}
    void softmax_rescale(Tensor, Tensor, SoftmaxParts) override {}
    void softmax_divide(Tensor, Tensor) override {}
    void cross_entropy(std::span<const std::int32_t>, SoftmaxParts, double, Tensor) override {}
    void cross_entropy_grad(std::span<const std::int32_t>, VocabularyPart, double, Tensor) override {}
    void adamw(const AdamStep&, Tensor, Tensor, Tensor, Tensor, Tensor) override {}
    void sgd(double, Tensor, Tensor, Tensor) override {}

private:
    ElementType type_;
};

inline std::byte* NullDevice::allocate(std::size_t bytes) {
    auto* data = static_cast<std::byte*>(std::calloc(bytes, 1));
    if (data == nullptr) throw OutOfMemory(bytes);
    return data;
}

}  // namespace foreshard::runtime::test
