#include "tests/runtime/cuda/device_pair.hpp"

/// Every kernel of the seam against the processor in fp64, on random inputs that both hold exactly; outputs hold NaN
/// before. Sizes are odd and even, below and above a block of threads. Compiled once with the kernels on the processor
/// and once with a GPU.
namespace foreshard::runtime::test {
namespace {

class DeviceKernels : public testing::TestWithParam<DeviceCase> {
protected:
    void SetUp() override {
        if (const std::string missing = missing_device(); !missing.empty()) GTEST_SKIP() << missing;
        pair_ = std::make_unique<DevicePair>(GetParam());
    }
    DevicePair& pair() { return *pair_; }

private:
    std::unique_ptr<DevicePair> pair_;
};

struct Size {
    std::int64_t rows;
    std::int64_t columns;
};
constexpr Size sizes[] = {{1, 1}, {7, 5}, {33, 64}, {5, 300}, {70, 33}};

std::string text(Size size) {
    return std::to_string(size.rows) + " x " + std::to_string(size.columns);
}

constexpr AttentionShape attention_shapes[] = {
    {2, 5, 4, 2, 4, AttentionMask::causal},   {1, 37, 6, 3, 8, AttentionMask::bidirectional},
    {2, 16, 2, 2, 16, AttentionMask::causal}, {1, 33, 4, 1, 6, AttentionMask::causal},
    {3, 48, 2, 1, 10, AttentionMask::causal}, {1, 1, 1, 1, 2, AttentionMask::bidirectional},
};

std::string text(const AttentionShape& s) {
    return std::to_string(s.sequences) + " sequences of " + std::to_string(s.seq) + ", heads " +
           std::to_string(s.heads) + " over " + std::to_string(s.kv_heads) + " of " + std::to_string(s.head_dim);
}

std::int64_t tokens(const AttentionShape& shape) {
    return shape.sequences * shape.seq;
}
std::int64_t width(const AttentionShape& shape) {
    return shape.query_width() + 2 * shape.kv_width();
}

TEST_P(DeviceKernels, Linear) {
    for (const Size size : sizes) {
        const std::int64_t inner = 2 * size.columns + 1;
        const Twin x = pair().random(size.rows, inner);
        const Twin weight = pair().random(size.columns, inner);
        const Twin bias = pair().random(1, size.columns);
        const Twin y = pair().poisoned(size.rows, size.columns);
        const Twin plain = pair().poisoned(size.rows, size.columns);
        const Twin dx = pair().poisoned(size.rows, inner);
        const Twin dweight = pair().random_state(size.columns, inner);
        const Twin dbias = pair().random_state(1, size.columns);
        pair().both([&](Device& device, const auto& pick) {
            device.linear(pick(x), {pick(weight), pick(bias)}, pick(y));
            device.linear(pick(x), {pick(weight), {}}, pick(plain));
        });
        const Twin dy = pair().random(size.rows, size.columns);
        pair().both([&](Device& device, const auto& pick) {
            device.linear_input_grad(pick(dy), pick(weight), pick(dx));
            device.linear_weight_grad(pick(dy), pick(x), {pick(dweight), pick(dbias)});
        });
        pair().expect_equal(y, "y, " + text(size));
        pair().expect_equal(plain, "y without bias, " + text(size));
        pair().expect_equal(dx, "dx, " + text(size));
        pair().expect_equal(dweight, "dw, " + text(size));
        pair().expect_equal(dbias, "bias gradient, " + text(size));
    }
}

TEST_P(DeviceKernels, Norms) {
    for (const NormKind kind : {NormKind::layer_norm, NormKind::rms_norm}) {
        for (const Size size : sizes) {
            if (size.columns == 1) continue;  // its deviation is nothing but rounding
            const Twin x = pair().random(size.rows, size.columns, 2.0);
            const Twin weight = pair().random(1, size.columns);
            const Twin bias = pair().random(1, size.columns);
            const Twin statistics = pair().poisoned_state(size.rows, 2);
            const Twin y = pair().poisoned(size.rows, size.columns);
            const Twin flow = pair().random(size.rows, size.columns);
            const Twin residual = pair().random(size.rows, size.columns);
            const Twin alone = pair().poisoned(size.rows, size.columns);
            const Twin dweight = pair().random_state(1, size.columns);
            const Twin dbias = pair().random_state(1, size.columns);
            pair().both([&](Device& device, const auto& pick) {
                device.norm_statistics(kind, pick(x), pick(statistics));
                device.norm(kind, pick(x), pick(statistics), {pick(weight), pick(bias)}, pick(y));
                device.norm_grad(kind, pick(flow), pick(x), pick(statistics), pick(weight), {}, pick(alone),
                                 {pick(dweight), {}});
                // In place.
                device.norm_grad(kind, pick(flow), pick(x), pick(statistics), pick(weight), pick(residual), pick(flow),
                                 {pick(dweight), pick(dbias)});
            });
            pair().expect_equal(statistics, "statistics, " + text(size), 4.0);
            pair().expect_equal(y, "y, " + text(size), 4.0);
            pair().expect_equal(alone, "dx without residual, " + text(size), 8.0);
            pair().expect_equal(flow, "dx, " + text(size), 8.0);
            pair().expect_equal(dweight, "weight gradient, " + text(size), 8.0);
            pair().expect_equal(dbias, "bias gradient, " + text(size), 8.0);
        }
    }
}

TEST_P(DeviceKernels, Activations) {
    for (const ActivationKind kind : {ActivationKind::gelu, ActivationKind::swiglu}) {
        for (const Size size : sizes) {
            const std::int64_t wide = kind == ActivationKind::swiglu ? 2 * size.columns : size.columns;
            const Twin x = pair().random(size.rows, wide, 3.0);
            const Twin y = pair().poisoned(size.rows, size.columns);
            const Twin dy = pair().random(size.rows, size.columns);
            const Twin dx = pair().poisoned(size.rows, wide);
            pair().both([&](Device& device, const auto& pick) {
                device.activation(kind, pick(x), pick(y));
                device.activation_grad(kind, pick(x), pick(dy), pick(dx));
            });
            pair().expect_equal(y, "y, " + text(size));
            pair().expect_equal(dx, "dx, " + text(size));
        }
    }
}

TEST_P(DeviceKernels, ResidualsAndSums) {
    for (const Size size : sizes) {
        const Twin x = pair().random(size.rows, size.columns);
        const Twin branch = pair().random(size.rows, size.columns);
        const Twin bias = pair().random(1, size.columns);
        const Twin y = pair().poisoned(size.rows, size.columns);
        const Twin copied = pair().poisoned(size.rows, size.columns);
        const Twin filled = pair().poisoned(size.rows, size.columns);
        pair().both([&](Device& device, const auto& pick) {
            device.add_residual(pick(x), pick(branch), pick(bias), pick(y));
            device.add_residual(pick(x), pick(branch), {}, pick(branch));
            device.copy(pick(x), pick(copied));
            device.add(pick(y), pick(x));
            device.spoil(pick(x));
            device.fill(pick(filled), 0.25);
        });
        pair().expect_equal(y, "with bias, " + text(size));
        pair().expect_equal(branch, "in place, " + text(size));
        pair().expect_equal(copied, "copy, " + text(size));
        pair().expect_equal(x, "sum, " + text(size));
        pair().expect_equal(filled, "filled, " + text(size));
    }
}

TEST_P(DeviceKernels, RotaryEmbedding) {
    for (const AttentionShape& shape : attention_shapes) {
        const Twin qkv = pair().random(tokens(shape), width(shape));
        const Twin back = pair().random(tokens(shape), width(shape));
        pair().both([&](Device& device, const auto& pick) {
            device.rotate(shape, pick(qkv), Turn::forward);
            device.rotate(shape, pick(back), Turn::backward);
        });
        pair().expect_equal(qkv, "forward, " + text(shape));
        pair().expect_equal(back, "backward, " + text(shape));
    }
}

TEST_P(DeviceKernels, AttentionWithScores) {
    for (const AttentionShape& shape : attention_shapes) {
        const Twin qkv = pair().random(tokens(shape), width(shape), 2.0);
        const Twin scores = pair().poisoned(shape.score_rows(), shape.seq);
        const Twin context = pair().poisoned(tokens(shape), shape.query_width());
        const Twin dcontext = pair().random(tokens(shape), shape.query_width());
        const Twin dscores = pair().poisoned(shape.score_rows(), shape.seq);
        const Twin dqkv = pair().poisoned(tokens(shape), width(shape));
        pair().both([&](Device& device, const auto& pick) {
            device.attention_scores(shape, pick(qkv), pick(scores));
            device.attention_softmax(shape, pick(scores));
            device.attention_context(shape, pick(qkv), pick(scores), pick(context));
            device.attention_context_grad(shape, pick(qkv), pick(scores), pick(dcontext), pick(dscores), pick(dqkv));
            device.attention_softmax_grad(shape, pick(scores), pick(dscores));
            device.attention_scores_grad(shape, pick(qkv), pick(dscores), pick(dqkv));
        });
        pair().expect_equal(scores, "probabilities, " + text(shape), 4.0);
        pair().expect_equal(context, "context, " + text(shape), 4.0);
        pair().expect_equal(dqkv, "gradient, " + text(shape), 8.0);
    }
}

TEST_P(DeviceKernels, FlashAttention) {
    for (const AttentionShape& shape : attention_shapes) {
        const Twin qkv = pair().random(tokens(shape), width(shape), 2.0);
        const Twin context = pair().poisoned(tokens(shape), shape.query_width());
        const Twin log_sum = pair().poisoned_state(shape.score_rows(), 1);
        const Twin dcontext = pair().random(tokens(shape), shape.query_width());
        const Twin dqkv = pair().poisoned(tokens(shape), width(shape));
        pair().both([&](Device& device, const auto& pick) {
            device.flash_attention(shape, pick(qkv), pick(context), pick(log_sum));
            device.flash_attention_grad(shape, pick(qkv), pick(context), pick(log_sum), pick(dcontext), pick(dqkv));
        });
        pair().expect_equal(context, "context, " + text(shape), 4.0);
        pair().expect_equal(log_sum, "log sums, " + text(shape), 4.0);
        pair().expect_equal(dqkv, "gradient, " + text(shape), 8.0);
    }
}

TEST_P(DeviceKernels, Embedding) {
    const std::vector<std::int32_t> ids = {3, 5, 3, 9, 0, 6, 3, 100};
    for (const std::int64_t columns : {1, 33, 300}) {
        const Twin table = pair().random(4, columns);  // rows 3 to 6
        const Twin y = pair().poisoned(8, columns);
        const Twin dy = pair().random(8, columns);
        const Twin gradient = pair().random_state(4, columns);
        const std::vector<std::int32_t> all = {3, 0, 1, 2, 3, 3, 1, 0};
        const std::vector<std::int32_t> none = {0, 1, 2, 8, 9, 7, 0, 0};
        pair().both([&](Device& device, const auto& pick) {
            device.take_rows(ids, 3, pick(table), pick(y));
            device.add_rows(all, pick(table), pick(y));
            device.rows_grad(ids, 3, pick(dy), pick(gradient));
            device.rows_grad(none, 3, pick(dy), pick(gradient));
        });
        pair().expect_equal(y, "rows of " + std::to_string(columns));
        pair().expect_equal(gradient, "gradient of rows of " + std::to_string(columns));
    }
}

/// On a rank with padding, with targets of its own, of others, and some that are not learnt.
TEST_P(DeviceKernels, CrossEntropy) {
    for (const std::int64_t valid : {0, 3, 29, 300}) {
        const std::int64_t columns = valid + 4;
        const std::vector<std::int32_t> targets = {10, 12, no_target, 9, 4000, 11, 10, no_target, 11};
        const auto rows = static_cast<std::int64_t>(targets.size());
        const VocabularyPart part{10, valid};
        const Twin logits = pair().random(rows, columns, 4.0);
        const Twin maximum = pair().poisoned_state(rows, 1);
        const Twin sum = pair().poisoned_state(rows, 1);
        const Twin target = pair().poisoned_state(rows, 1);
        const Twin all_maximum = pair().random_state(rows, 1);
        pair().set(all_maximum, std::vector<double>(targets.size(), 4.5));
        const Twin all_sum = pair().random_state(rows, 1);
        pair().set(all_sum, std::vector<double>(targets.size(), 11.0));
        const Twin loss = pair().loss();
        pair().both([&](Device& device, const auto& pick) {
            const SoftmaxParts parts{pick(maximum), pick(sum), pick(target)};
            device.softmax_parts(targets, part, pick(logits), parts);
        });
        if (valid > 0) pair().expect_equal(maximum, "maximum");
        pair().expect_equal(sum, "sum");
        pair().expect_equal(target, "target");
        pair().both([&](Device& device, const auto& pick) {
            const SoftmaxParts parts{pick(maximum), pick(sum), pick(target)};
            if (valid == 29) {  // at two times, as a share of the vocabulary does
                device.softmax_rescale(pick(all_maximum), {}, parts);
                device.softmax_rescale(pick(all_maximum), pick(logits), {pick(maximum), {}, {}});
            } else {
                device.softmax_rescale(pick(all_maximum), pick(logits), parts);
            }
            device.cross_entropy(targets, {pick(all_maximum), pick(all_sum), pick(target)}, 0.125, pick(loss));
            device.softmax_divide(pick(all_sum), pick(logits));
            device.cross_entropy_grad(targets, part, 0.125, pick(logits));
        });
        pair().expect_equal(sum, "sum over all ranks", 4.0);
        pair().expect_equal(logits, "gradient", 4.0);
        pair().expect_equal(loss, "loss");
        EXPECT_NE(pair().reference(loss).front(), 0.0);
    }
}

/// With the 16-bit copy where weights are 16-bit.
TEST_P(DeviceKernels, Optimizers) {
    const bool copies = pair().tested().type() != pair().tested().state_type();
    for (const std::int64_t size : {1, 255, 1000}) {
        const Twin weight = pair().random_state(1, size);
        const Twin gradient = pair().random_state(1, size);
        const Twin first = pair().random_state(1, size, 0.1);
        const Twin second = pair().random_state(1, size, 0.1);
        pair().both([&](Device& device, const auto& pick) {
            // Second moments are not negative.
            device.fill(pick(second), 0.04);
        });
        const Twin copy = pair().poisoned(1, size);
        const auto copy_of = [&](Tensor tensor) { return copies ? tensor : Tensor{}; };
        pair().both([&](Device& device, const auto& pick) {
            device.adamw({0.01, 0.9, 0.95, 1e-8, 0.1, 3}, pick(gradient), pick(first), pick(second), pick(weight),
                         &device == &pair().tested() ? copy_of(pick(copy)) : Tensor{});
            device.sgd(0.1, pick(gradient), pick(weight), &device == &pair().tested() ? copy_of(pick(copy)) : Tensor{});
        });
        const double factor = copies ? 2e-3 : 1.0;  // states are in fp32
        pair().expect_equal(weight, "weight", factor);
        pair().expect_equal(first, "first moment", factor);
        pair().expect_equal(second, "second moment", factor);
        if (!copies) continue;
        pair().both([&](Device& device, const auto& pick) {
            if (&device != &pair().tested()) device.copy(pick(weight), pick(copy));
        });
        pair().expect_equal(copy, "copy");
    }
}

INSTANTIATE_TEST_SUITE_P(Types, DeviceKernels, testing::ValuesIn(device_cases()),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace foreshard::runtime::test
