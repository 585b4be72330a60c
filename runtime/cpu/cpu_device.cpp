#include "runtime/cpu/cpu_device.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <type_traits>

#include "runtime/cpu/attention.hpp"
#include "runtime/cpu/elementwise.hpp"
#include "runtime/cpu/linear.hpp"
#include "runtime/cpu/loss.hpp"
#include "runtime/cpu/memory.hpp"
#include "runtime/cpu/norm.hpp"

namespace foreshard::runtime {

namespace {

template <class Work>
void with_numbers(Tensor tensor, const Work& work) {
    assert(tensor.type != ElementType::bf16 && "the processor computes in fp32 and fp64");
    if (tensor.type == ElementType::fp32) {
        work(cpu::data_of<float>(tensor));
    } else {
        work(cpu::data_of<double>(tensor));
    }
}

template <class T>
class CpuDevice final : public Device {
public:
    ElementType type() const override { return sizeof(T) == 4 ? ElementType::fp32 : ElementType::fp64; }

    std::byte* allocate(std::size_t bytes) override { return cpu::map_memory(bytes); }
    void release(std::byte* data, std::size_t bytes) override { cpu::unmap_memory(data, bytes); }
    void forbid(std::byte* data, std::size_t bytes) override { cpu::forbid(data, bytes); }
    void permit(std::byte* data, std::size_t bytes) override { cpu::permit(data, bytes); }
    std::size_t gap() const override { return cpu::gap; }

    void store(Tensor to, std::span<const double> values) override {
        assert(static_cast<std::int64_t>(values.size()) == to.size());
        with_numbers(to, [&](auto* data) {
            using Number = std::remove_pointer_t<decltype(data)>;
            std::transform(values.begin(), values.end(), data, [](double v) { return static_cast<Number>(v); });
        });
    }
    std::vector<double> load(Tensor from) const override {
        std::vector<double> values(static_cast<std::size_t>(from.size()));
        with_numbers(from, [&](const auto* data) { std::copy_n(data, from.size(), values.begin()); });
        return values;
    }
    void fill(Tensor to, double value) override {
        with_numbers(to, [&](auto* data) {
            std::fill_n(data, to.size(), static_cast<std::remove_pointer_t<decltype(data)>>(value));
        });
    }
    void copy(Tensor from, Tensor to) override {
        assert(from.type == to.type && "16-bit copies are for devices with 16-bit types");
        std::memcpy(to.data, from.data, static_cast<std::size_t>(from.bytes()));
    }
    void add(Tensor from, Tensor to) override { cpu::view<T>(to) += cpu::view<T>(from); }
    void spoil(Tensor tensor) override {
        with_numbers(tensor, [](auto* data) { *data = 2 * *data + 1; });
    }

    void stamp(int index) override {
        if (stamps_.size() <= static_cast<std::size_t>(index)) stamps_.resize(static_cast<std::size_t>(index) + 1);
        stamps_[static_cast<std::size_t>(index)] = std::chrono::steady_clock::now();
    }
    std::vector<std::chrono::steady_clock::time_point> stamps(int count) override {
        return {stamps_.begin(), stamps_.begin() + count};
    }

    void linear(Tensor x, Affine w, Tensor y) override { cpu::linear<T>(x, w, y); }
    void linear_input_grad(Tensor dy, Tensor w, Tensor dx) override { cpu::linear_input_grad<T>(dy, w, dx); }
    void linear_weight_grad(Tensor dy, Tensor x, Affine dw) override { cpu::linear_weight_grad<T>(dy, x, dw); }
    void bias_grad(Tensor dy, Tensor bias) override { cpu::bias_grad<T>(dy, bias); }

    void norm_statistics(NormKind kind, Tensor x, Tensor statistics) override {
        cpu::norm_statistics<T>(kind, x, statistics);
    }
    void norm(NormKind /*kind*/, Tensor x, Tensor statistics, Affine w, Tensor y) override {
        cpu::norm<T>(x, statistics, w, y);
    }
    void norm_grad(NormKind kind, Tensor dy, Tensor x, Tensor statistics, Tensor weight, Tensor residual, Tensor dx,
                   Affine dw) override {
        cpu::norm_grad<T>(kind, dy, x, statistics, weight, residual, dx, dw);
    }

    void rotate(const AttentionShape& shape, Tensor qkv, Turn turn) override { cpu::rotate<T>(shape, qkv, turn); }
    void attention_scores(const AttentionShape& shape, Tensor qkv, Tensor scores) override {
        cpu::attention_scores<T>(shape, qkv, scores);
    }
    void attention_softmax(const AttentionShape& shape, Tensor scores) override {
        cpu::attention_softmax<T>(shape, scores);
    }
    void attention_context(const AttentionShape& shape, Tensor qkv, Tensor probabilities, Tensor context) override {
        cpu::attention_context<T>(shape, qkv, probabilities, context);
    }
    void attention_context_grad(const AttentionShape& shape, Tensor qkv, Tensor probabilities, Tensor dcontext,
                                Tensor dprobabilities, Tensor dqkv) override {
        cpu::attention_context_grad<T>(shape, qkv, probabilities, dcontext, dprobabilities, dqkv);
    }
    void attention_softmax_grad(const AttentionShape& /*shape*/, Tensor probabilities, Tensor dprobabilities) override {
        cpu::attention_softmax_grad<T>(probabilities, dprobabilities);
    }
    void attention_scores_grad(const AttentionShape& shape, Tensor qkv, Tensor dscores, Tensor dqkv) override {
        cpu::attention_scores_grad<T>(shape, qkv, dscores, dqkv);
    }

    void flash_attention(const AttentionShape& shape, Tensor qkv, Tensor context, Tensor log_sum) override {
        cpu::flash_attention<T>(shape, qkv, context, log_sum);
    }
    void flash_attention_grad(const AttentionShape& shape, Tensor qkv, Tensor context, Tensor log_sum, Tensor dcontext,
                              Tensor dqkv) override {
        cpu::flash_attention_grad<T>(shape, qkv, context, log_sum, dcontext, dqkv);
    }

    void activation(ActivationKind kind, Tensor x, Tensor y) override { cpu::activation<T>(kind, x, y); }
    void activation_grad(ActivationKind kind, Tensor x, Tensor dy, Tensor dx) override {
        cpu::activation_grad<T>(kind, x, dy, dx);
    }
    void add_residual(Tensor x, Tensor branch, Tensor bias, Tensor y) override {
        cpu::add_residual<T>(x, branch, bias, y);
    }

    void take_rows(std::span<const std::int32_t> ids, std::int32_t first, Tensor table, Tensor y) override {
        cpu::take_rows<T>(ids, first, table, y);
    }
    void add_rows(std::span<const std::int32_t> ids, Tensor table, Tensor y) override {
        cpu::add_rows<T>(ids, table, y);
    }
    void rows_grad(std::span<const std::int32_t> ids, std::int32_t first, Tensor dy, Tensor table) override {
        cpu::rows_grad<T>(ids, first, dy, table);
    }

    void softmax_parts(std::span<const std::int32_t> targets, VocabularyPart part, Tensor logits,
                       SoftmaxParts parts) override {
        cpu::softmax_parts<T>(targets, part, logits, parts);
    }
    void softmax_rescale(Tensor maximum, Tensor logits, SoftmaxParts parts) override {
        cpu::softmax_rescale<T>(maximum, logits, parts);
    }
    void softmax_divide(Tensor sum, Tensor logits) override { cpu::softmax_divide<T>(sum, logits); }
    void cross_entropy(std::span<const std::int32_t> targets, SoftmaxParts parts, double scale, Tensor loss) override {
        *cpu::data_of<double>(loss) += scale * cpu::cross_entropy<T>(targets, parts);
    }
    void cross_entropy_grad(std::span<const std::int32_t> targets, VocabularyPart part, double scale,
                            Tensor probabilities) override {
        cpu::cross_entropy_grad<T>(targets, part, scale, probabilities);
    }

    void adamw(const AdamStep& step, Tensor gradient, Tensor first_moment, Tensor second_moment, Tensor weight,
               Tensor copy) override {
        cpu::adamw<T>(step, gradient, first_moment, second_moment, weight);
        if (copy) this->copy(weight, copy);
    }
    void sgd(double learning_rate, Tensor gradient, Tensor weight, Tensor copy) override {
        cpu::sgd<T>(learning_rate, gradient, weight);
        if (copy) this->copy(weight, copy);
    }

private:
    std::vector<std::chrono::steady_clock::time_point> stamps_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(ElementType type) {
    if (type == ElementType::bf16) throw std::invalid_argument("the processor computes in fp32 or fp64, not in bf16");
    if (type == ElementType::fp32) return std::make_unique<CpuDevice<float>>();
    return std::make_unique<CpuDevice<double>>();
}

}  // namespace foreshard::runtime
