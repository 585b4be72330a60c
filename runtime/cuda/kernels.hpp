#pragma once

#include <cstdint>

#include "runtime/cuda/bodies/heads.hpp"
#include "runtime/cuda/bodies/loss.hpp"
#include "runtime/cuda/queue.hpp"
#include "runtime/tensor.hpp"

/// Kernels on a queue, by families; contracts in device.hpp. Ids lie in the device's memory. Each file compiles with
/// nvcc for a GPU, and without it for tests on the processor.
namespace foreshard::runtime::cuda::kernels {

// elementwise.cu
void fill(Queue queue, Tensor to, double value);
void convert(Queue queue, Tensor from, Tensor to);
void add(Queue queue, Tensor from, Tensor to);
void spoil(Queue queue, Tensor tensor);
void activation(Queue queue, bool gated, Tensor x, Tensor y);
void activation_grad(Queue queue, bool gated, Tensor x, Tensor dy, Tensor dx);
/// y = x + branch + bias; x and bias may be none.
void add_residual(Queue queue, Tensor x, Tensor branch, Tensor bias, Tensor y);

// norm.cu
void norm_statistics(Queue queue, bool centred, Tensor x, Tensor statistics);
void norm(Queue queue, Tensor x, Tensor statistics, Tensor weight, Tensor bias, Tensor y);
void norm_grad(Queue queue, bool centred, Tensor dy, Tensor x, Tensor statistics, Tensor weight, Tensor residual,
               Tensor dx, Tensor dweight, Tensor dbias);
void bias_grad(Queue queue, Tensor dy, Tensor bias);

// attention.cu
void rotate(Queue queue, const Heads& heads, Tensor qkv, bool back);
void score_softmax(Queue queue, const Heads& heads, Tensor scores);
void score_softmax_grad(Queue queue, Tensor probabilities, Tensor gradient);

// flash.cu
void flash(Queue queue, const Heads& heads, Tensor qkv, Tensor context, Tensor log_sum);
void flash_grad(Queue queue, const Heads& heads, Tensor qkv, Tensor context, Tensor log_sum, Tensor dcontext,
                Tensor dqkv);

// rows.cu
void take_rows(Queue queue, const std::int32_t* ids, std::int32_t first, Tensor table, Tensor y);
void add_rows(Queue queue, const std::int32_t* ids, Tensor table, Tensor y);
/// Tokens by the row of the table that they take; in the device's memory.
struct GroupedTokens {
    std::int64_t groups = 0;
    const std::int32_t* rows = nullptr;
    const std::int32_t* bounds = nullptr;
    const std::int32_t* tokens = nullptr;
};
void rows_grad(Queue queue, const GroupedTokens& grouped, Tensor dy, Tensor table);

// loss.cu
void softmax_parts(Queue queue, const std::int32_t* targets, Vocabulary part, Tensor logits, Tensor maximum, Tensor sum,
                   Tensor target);
void softmax_rescale_logits(Queue queue, Tensor maximum, Tensor logits, Tensor own_maximum);
void softmax_rescale_sums(Queue queue, Tensor maximum, Tensor own_maximum, Tensor sum);
void softmax_divide(Queue queue, Tensor sum, Tensor logits);
void cross_entropy(Queue queue, const std::int32_t* targets, Tensor maximum, Tensor sum, Tensor target, double scale,
                   Tensor loss);
void cross_entropy_grad(Queue queue, const std::int32_t* targets, Vocabulary part, double scale, Tensor probabilities);

// optimizer.cu
struct AdamScalars {
    double rate;
    double beta1;
    double beta2;
    double epsilon;
    double keep;
    double first_scale;
    double second_scale;
};
void adamw(Queue queue, const AdamScalars& scalars, Tensor gradient, Tensor first_moment, Tensor second_moment,
           Tensor weight, Tensor copy);
void sgd(Queue queue, double rate, Tensor gradient, Tensor weight, Tensor copy);

}  // namespace foreshard::runtime::cuda::kernels
