#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "runtime/cpu/cpu_device.hpp"
#include "runtime/memory_pool.hpp"
#include "runtime/random.hpp"

/// Gradients of single kernels against central differences in fp64, and what padding and masks must do.
namespace foreshard::runtime {
namespace {

/// Tensors filled from a counter, so that every test has other numbers than the next.
class Kernels : public testing::Test {
protected:
    Tensor random(std::int64_t rows, std::int64_t columns, double scale = 1.0) {
        const Tensor tensor = empty(rows, columns);
        std::vector<double> values(static_cast<std::size_t>(tensor.size()));
        const std::uint64_t key = random_key(3, "kernels") + buffers_.size();
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = scale * random_unit(key, i);
        device_->store(tensor, values);
        return tensor;
    }
    Tensor empty(std::int64_t rows, std::int64_t columns) {
        buffers_.emplace_back(pool_, MemoryKind::activations, rows, columns);
        return buffers_.back().tensor();
    }
    Tensor zeros(std::int64_t rows, std::int64_t columns) {
        const Tensor tensor = empty(rows, columns);
        device_->fill(tensor, 0.0);
        return tensor;
    }

    /// Weighted sum of a tensor, the scalar whose gradient is taken.
    double dot(Tensor a, Tensor b) const {
        const std::vector<double> x = device_->load(a);
        const std::vector<double> y = device_->load(b);
        double sum = 0.0;
        for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
        return sum;
    }

    double cross_entropy(std::span<const std::int32_t> targets, SoftmaxParts parts, double scale = 1.0) {
        const Buffer loss(pool_, MemoryKind::activations, 1, 1, ElementType::fp64);
        device_->fill(loss.tensor(), 0.0);
        device_->cross_entropy(targets, parts, scale, loss.tensor());
        return device_->load(loss.tensor()).front();
    }

    /// Every element of `gradient` is the slope of `value` along that element of `of`.
    void expect_slope(const std::function<double()>& value, Tensor of, Tensor gradient, const char* what) {
        const std::vector<double> found = device_->load(gradient);
        std::vector<double> at = device_->load(of);
        for (std::size_t i = 0; i < at.size(); ++i) {
            const double here = at[i];
            const double step = 1e-5;
            at[i] = here + step;
            device_->store(of, at);
            const double above = value();
            at[i] = here - step;
            device_->store(of, at);
            const double below = value();
            at[i] = here;
            device_->store(of, at);
            EXPECT_NEAR(found[i], (above - below) / (2.0 * step), 1e-7) << what << " " << i;
        }
    }

    std::unique_ptr<Device> device_ = make_cpu_device(ElementType::fp64);
    MemoryPool pool_{*device_, 1 << 20};
    std::vector<Buffer> buffers_;
};

TEST_F(Kernels, LinearGradientsAreSlopes) {
    const Tensor x = random(5, 3);
    const Affine w{random(4, 3), random(1, 4)};
    const Tensor y = empty(5, 4);
    const Tensor dy = random(5, 4);
    const auto value = [&] {
        device_->linear(x, w, y);
        return dot(y, dy);
    };
    const Tensor dx = empty(5, 3);
    const Affine dw{zeros(4, 3), zeros(1, 4)};
    device_->linear_input_grad(dy, w.weight, dx);
    device_->linear_weight_grad(dy, x, dw);
    expect_slope(value, x, dx, "x");
    expect_slope(value, w.weight, dw.weight, "weight");
    expect_slope(value, w.bias, dw.bias, "bias");
}

TEST_F(Kernels, NormGradientsAreSlopes) {
    for (const NormKind kind : {NormKind::layer_norm, NormKind::rms_norm}) {
        const Tensor x = random(3, 6, 2.0);
        const Affine w{random(1, 6), kind == NormKind::layer_norm ? random(1, 6) : Tensor{}};
        const Tensor statistics = empty(3, 2);
        const Tensor y = empty(3, 6);
        const Tensor dy = random(3, 6);
        const Tensor residual = random(3, 6);
        const auto value = [&] {
            device_->norm_statistics(kind, x, statistics);
            device_->norm(kind, x, statistics, w, y);
            return dot(y, dy) + dot(x, residual);
        };
        value();
        const Tensor dx = empty(3, 6);
        const Affine dw{zeros(1, 6), w.bias ? zeros(1, 6) : Tensor{}};
        device_->norm_grad(kind, dy, x, statistics, w.weight, residual, dx, dw);
        expect_slope(value, x, dx, "x");
        expect_slope(value, w.weight, dw.weight, "weight");
        if (w.bias) expect_slope(value, w.bias, dw.bias, "bias");
    }
}

TEST_F(Kernels, ActivationGradientsAreSlopes) {
    for (const ActivationKind kind : {ActivationKind::gelu, ActivationKind::swiglu}) {
        const Tensor x = random(3, kind == ActivationKind::swiglu ? 8 : 4, 3.0);
        const Tensor y = empty(3, 4);
        const Tensor dy = random(3, 4);
        const Tensor dx = empty(3, x.columns);
        device_->activation_grad(kind, x, dy, dx);
        expect_slope(
            [&] {
                device_->activation(kind, x, y);
                return dot(y, dy);
            },
            x, dx, "x");
    }
}

/// Scores, softmax, context and rotation together, with KV heads that several query heads share.
TEST_F(Kernels, AttentionGradientsAreSlopes) {
    for (const AttentionMask mask : {AttentionMask::causal, AttentionMask::bidirectional}) {
        const AttentionShape shape{2, 5, 4, 2, 4, mask};
        const std::int64_t tokens = shape.sequences * shape.seq;
        const std::int64_t width = shape.query_width() + 2 * shape.kv_width();
        const Tensor packed = random(tokens, width);
        const Tensor qkv = empty(tokens, width);
        const Tensor scores = empty(shape.score_rows(), shape.seq);
        const Tensor context = empty(tokens, shape.query_width());
        const Tensor dcontext = random(tokens, shape.query_width());
        const auto value = [&] {
            device_->copy(packed, qkv);
            device_->rotate(shape, qkv, Turn::forward);
            device_->attention_scores(shape, qkv, scores);
            device_->attention_softmax(shape, scores);
            device_->attention_context(shape, qkv, scores, context);
            return dot(context, dcontext);
        };
        value();
        const Tensor dscores = empty(scores.rows, scores.columns);
        const Tensor dqkv = empty(tokens, width);
        device_->attention_context_grad(shape, qkv, scores, dcontext, dscores, dqkv);
        device_->attention_softmax_grad(shape, scores, dscores);
        device_->attention_scores_grad(shape, qkv, dscores, dqkv);
        device_->rotate(shape, dqkv, Turn::backward);
        expect_slope(value, packed, dqkv, "qkv");
    }
}

/// What the ops with the score matrix compute, whose gradients are tested above.
TEST_F(Kernels, FlashAttentionIsAttentionWithScores) {
    for (const AttentionMask mask : {AttentionMask::causal, AttentionMask::bidirectional}) {
        const AttentionShape shape{2, 5, 4, 2, 4, mask};
        const std::int64_t tokens = shape.sequences * shape.seq;
        const Tensor qkv = random(tokens, shape.query_width() + 2 * shape.kv_width(), 2.0);
        const Tensor scores = empty(shape.score_rows(), shape.seq);
        const Tensor dscores = empty(shape.score_rows(), shape.seq);
        const Tensor dcontext = random(tokens, shape.query_width());
        const Tensor contexts[] = {empty(tokens, shape.query_width()), empty(tokens, shape.query_width())};
        const Tensor gradients[] = {empty(tokens, qkv.columns), empty(tokens, qkv.columns)};
        const Tensor log_sum = empty(shape.score_rows(), 1);
        device_->attention_scores(shape, qkv, scores);
        device_->attention_softmax(shape, scores);
        device_->attention_context(shape, qkv, scores, contexts[0]);
        device_->attention_context_grad(shape, qkv, scores, dcontext, dscores, gradients[0]);
        device_->attention_softmax_grad(shape, scores, dscores);
        device_->attention_scores_grad(shape, qkv, dscores, gradients[0]);
        device_->flash_attention(shape, qkv, contexts[1], log_sum);
        device_->flash_attention_grad(shape, qkv, contexts[1], log_sum, dcontext, gradients[1]);
        for (const auto& pair : {contexts, gradients}) {
            const std::vector<double> a = device_->load(pair[0]);
            const std::vector<double> b = device_->load(pair[1]);
            for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-13);
        }
    }
}

/// A causal token depends on nothing behind it.
TEST_F(Kernels, CausalAttentionHidesWhatComesLater) {
    const AttentionShape shape{1, 4, 1, 1, 4, AttentionMask::causal};
    const Tensor scores = random(4, 4);
    device_->attention_softmax(shape, scores);
    const std::vector<double> p = device_->load(scores);
    for (std::size_t i = 0; i < 4; ++i) {
        double sum = 0.0;
        for (std::size_t j = 0; j < 4; ++j) {
            sum += p[4 * i + j];
            EXPECT_EQ(p[4 * i + j] > 0.0, j <= i);
        }
        EXPECT_NEAR(sum, 1.0, 1e-15);
    }
}

/// The loss over two parts of the vocabulary, put together as ranks do, is that over all of it; padding has no share.
TEST_F(Kernels, LossOverPartsIsLossOverAll) {
    const std::vector<std::int32_t> targets = {0, 6, no_target, 3};
    const Tensor all = random(4, 7, 5.0);
    const auto parts_of = [&] { return SoftmaxParts{empty(4, 1), empty(4, 1), empty(4, 1)}; };
    const SoftmaxParts whole = parts_of();
    const std::vector<double> logits = device_->load(all);
    device_->softmax_parts(targets, {0, 7}, all, whole);
    const double expected = cross_entropy(targets, whole);

    const Tensor halves[] = {empty(4, 4), empty(4, 4)};
    const VocabularyPart ranges[] = {{0, 4}, {4, 3}};
    const SoftmaxParts parts[] = {parts_of(), parts_of()};
    std::vector<double> maximum(4);
    for (std::size_t h = 0; h < 2; ++h) {
        std::vector<double> values(16, 100.0);  // of the padding column
        for (std::size_t i = 0; i < 4; ++i) {
            for (std::size_t j = 0; j < (h == 0 ? 4 : 3); ++j) values[4 * i + j] = logits[7 * i + 4 * h + j];
        }
        device_->store(halves[h], values);
        device_->softmax_parts(targets, ranges[h], halves[h], parts[h]);
        const std::vector<double> own = device_->load(parts[h].maximum);
        for (std::size_t i = 0; i < 4; ++i) maximum[i] = h == 0 ? own[i] : std::max(maximum[i], own[i]);
    }
    const Tensor most = empty(4, 1);
    device_->store(most, maximum);
    for (std::size_t h = 0; h < 2; ++h) device_->softmax_rescale(most, halves[h], parts[h]);
    device_->add(parts[1].sum, parts[0].sum);
    device_->add(parts[1].target, parts[0].target);
    EXPECT_NEAR(cross_entropy(targets, {most, parts[0].sum, parts[0].target}), expected, 1e-12);
    device_->softmax_divide(parts[0].sum, halves[1]);
    const std::vector<double> right = device_->load(halves[1]);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(right[4 * i + 3], 0.0);
}

TEST_F(Kernels, CrossEntropyGradientIsTheSlope) {
    const std::vector<std::int32_t> targets = {2, no_target, 0};
    const Tensor logits = random(3, 5, 2.0);
    const Tensor work = empty(3, 5);
    const SoftmaxParts parts{empty(3, 1), empty(3, 1), empty(3, 1)};
    const auto value = [&] {
        device_->copy(logits, work);
        device_->softmax_parts(targets, {0, 4}, work, parts);
        return cross_entropy(targets, parts, 0.25);
    };
    value();
    device_->softmax_divide(parts.sum, work);
    device_->cross_entropy_grad(targets, {0, 4}, 0.25, work);
    const Tensor gradient = empty(3, 5);
    device_->copy(work, gradient);
    expect_slope(value, logits, gradient, "logits");
}

TEST_F(Kernels, EmbeddingGradientIsTheSlope) {
    const std::vector<std::int32_t> ids = {3, 5, 3, 9};
    const Tensor table = random(4, 2);  // rows 3 to 6
    const Tensor y = empty(4, 2);
    const Tensor dy = random(4, 2);
    const Tensor gradient = zeros(4, 2);
    device_->rows_grad(ids, 3, dy, gradient);
    expect_slope(
        [&] {
            device_->take_rows(ids, 3, table, y);
            return dot(y, dy);
        },
        table, gradient, "table");
}

/// Reading a tensor before it is written spoils the result.
TEST_F(Kernels, FreshTensorsArePoisoned) {
    for (const double value : device_->load(empty(2, 3))) EXPECT_TRUE(std::isnan(value));
}

TEST_F(Kernels, MemoryIsCountedWhileItLives) {
    MemoryMeter& meter = pool_.meter();
    {
        Buffer a(pool_, MemoryKind::messages, 2, 3);
        EXPECT_EQ(meter.now().of(MemoryKind::messages), 48);
        a.count_as(MemoryKind::activations);
        EXPECT_EQ(meter.now().of(MemoryKind::messages), 0);
        const Buffer b = std::move(a);
        EXPECT_EQ(meter.now().total(), 48);
    }
    EXPECT_EQ(meter.now().total(), 0);
    EXPECT_EQ(meter.high_water().total(), 48);
}

}  // namespace
}  // namespace foreshard::runtime
