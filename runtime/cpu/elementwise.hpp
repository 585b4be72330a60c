#pragma once

#include <cmath>

#include "runtime/cpu/matrix.hpp"
#include "runtime/device.hpp"

/// Activations, residuals, embeddings and optimizers; contracts in device.hpp.
namespace foreshard::runtime::cpu {

/// Hendrycks and Gimpel, arXiv 1606.08415.
template <class T>
T gelu(T x) {
    return T(0.5) * x * (T(1) + std::erf(x * T(0.70710678118654752440)));
}

template <class T>
T gelu_slope(T x) {
    const T density = T(0.39894228040143267794) * std::exp(T(-0.5) * x * x);
    return T(0.5) * (T(1) + std::erf(x * T(0.70710678118654752440))) + x * density;
}

template <class T>
T sigmoid(T x) {
    return T(1) / (T(1) + std::exp(-x));
}

template <class T>
void activation(ActivationKind kind, Tensor x, Tensor y) {
    for (std::int64_t i = 0; i < y.rows; ++i) {
        const T* in = row_of<T>(x, i);
        T* out = row_of<T>(y, i);
        for (std::int64_t j = 0; j < y.columns; ++j) {
            out[j] = kind == ActivationKind::gelu ? gelu(in[j]) : in[j] * sigmoid(in[j]) * in[y.columns + j];
        }
    }
}

template <class T>
void activation_grad(ActivationKind kind, Tensor x, Tensor dy, Tensor dx) {
    for (std::int64_t i = 0; i < dy.rows; ++i) {
        const T* in = row_of<T>(x, i);
        const T* gradient = row_of<T>(dy, i);
        T* out = row_of<T>(dx, i);
        for (std::int64_t j = 0; j < dy.columns; ++j) {
            const T g = gradient[j];
            if (kind == ActivationKind::gelu) {
                out[j] = g * gelu_slope(in[j]);
                continue;
            }
            const T s = sigmoid(in[j]);
            const T up = in[dy.columns + j];
            out[j] = g * up * s * (T(1) + in[j] * (T(1) - s));
            out[dy.columns + j] = g * in[j] * s;
        }
    }
}

template <class T>
void add_residual(Tensor x, Tensor branch, Tensor bias, Tensor y) {
    auto out = view<T>(y);
    out = view<T>(x) + view<T>(branch);
    if (bias) out.rowwise() += view<T>(bias).row(0);
}

template <class T>
void take_rows(std::span<const std::int32_t> ids, std::int32_t first, Tensor table, Tensor y) {
    auto out = view<T>(y);
    for (std::int64_t i = 0; i < y.rows; ++i) {
        const std::int64_t row = ids[static_cast<std::size_t>(i)] - first;
        if (row >= 0 && row < table.rows) {
            out.row(i) = view<T>(table).row(row);
        } else {
            out.row(i).setZero();
        }
    }
}

template <class T>
void add_rows(std::span<const std::int32_t> ids, Tensor table, Tensor y) {
    auto out = view<T>(y);
    for (std::int64_t i = 0; i < y.rows; ++i) out.row(i) += view<T>(table).row(ids[static_cast<std::size_t>(i)]);
}

template <class T>
void rows_grad(std::span<const std::int32_t> ids, std::int32_t first, Tensor dy, Tensor table) {
    auto gradient = view<T>(table);
    for (std::int64_t i = 0; i < dy.rows; ++i) {
        const std::int64_t row = ids[static_cast<std::size_t>(i)] - first;
        if (row >= 0 && row < table.rows) gradient.row(row) += view<T>(dy).row(i);
    }
}

template <class T>
void adamw(const AdamStep& step, Tensor gradient, Tensor first_moment, Tensor second_moment, Tensor weight) {
    const auto rate = static_cast<T>(step.learning_rate);
    const auto beta1 = static_cast<T>(step.beta1);
    const auto beta2 = static_cast<T>(step.beta2);
    const auto epsilon = static_cast<T>(step.epsilon);
    const auto keep = static_cast<T>(1.0 - step.learning_rate * step.weight_decay);
    const auto first_scale = static_cast<T>(1.0 / (1.0 - std::pow(step.beta1, static_cast<double>(step.step))));
    const auto second_scale = static_cast<T>(1.0 / (1.0 - std::pow(step.beta2, static_cast<double>(step.step))));
    const T* g = data_of<T>(gradient);
    T* m = data_of<T>(first_moment);
    T* v = data_of<T>(second_moment);
    T* w = data_of<T>(weight);
    for (std::int64_t i = 0; i < weight.size(); ++i) {
        m[i] = beta1 * m[i] + (T(1) - beta1) * g[i];
        v[i] = beta2 * v[i] + (T(1) - beta2) * g[i] * g[i];
        w[i] = w[i] * keep - rate * m[i] * first_scale / (std::sqrt(v[i] * second_scale) + epsilon);
    }
}

template <class T>
void sgd(double learning_rate, Tensor gradient, Tensor weight) {
    view<T>(weight) -= static_cast<T>(learning_rate) * view<T>(gradient);
}

}  // namespace foreshard::runtime::cpu
