#pragma once

#include <cmath>

#include "runtime/cpu/matrix.hpp"
#include "runtime/device.hpp"

/// LayerNorm (Ba et al., arXiv 1607.06450) and RMSNorm (Zhang and Sennrich, arXiv 1910.07467); contracts in device.hpp.
namespace foreshard::runtime::cpu {

inline constexpr double norm_epsilon = 1e-5;

template <class T>
void norm_statistics(NormKind kind, Tensor x, Tensor statistics) {
    const auto in = view<T>(x);
    const auto width = static_cast<T>(x.columns);
    for (std::int64_t i = 0; i < x.rows; ++i) {
        const T mean = kind == NormKind::layer_norm ? in.row(i).sum() / width : T(0);
        const T variance = (in.row(i).array() - mean).square().sum() / width;
        row_of<T>(statistics, i)[0] = mean;
        row_of<T>(statistics, i)[1] = T(1) / std::sqrt(variance + T(norm_epsilon));
    }
}

template <class T>
void norm(Tensor x, Tensor statistics, Affine w, Tensor y) {
    const auto in = view<T>(x);
    auto out = view<T>(y);
    for (std::int64_t i = 0; i < x.rows; ++i) {
        const T* s = row_of<T>(statistics, i);
        out.row(i) = ((in.row(i).array() - s[0]) * s[1] * view<T>(w.weight).row(0).array()).matrix();
        if (w.bias) out.row(i) += view<T>(w.bias).row(0);
    }
}

/// With n = (x - mean) r and g = dy w: dx = r (g - mean(g) - n mean(g n)); RMSNorm has no mean(g).
template <class T>
void norm_grad(NormKind kind, Tensor dy, Tensor x, Tensor statistics, Tensor weight, Tensor residual, Tensor dx,
               Affine dw) {
    const auto width = static_cast<T>(x.columns);
    const auto scale = view<T>(weight);
    Eigen::Array<T, 1, Eigen::Dynamic> normalised(x.columns);
    Eigen::Array<T, 1, Eigen::Dynamic> gradient(x.columns);
    for (std::int64_t i = 0; i < x.rows; ++i) {
        const T* s = row_of<T>(statistics, i);
        normalised = (view<T>(x).row(i).array() - s[0]) * s[1];
        gradient = view<T>(dy).row(i).array();
        view<T>(dw.weight).row(0).array() += gradient * normalised;
        if (dw.bias) view<T>(dw.bias).row(0).array() += gradient;
        gradient *= scale.row(0).array();
        const T mean = kind == NormKind::layer_norm ? gradient.sum() / width : T(0);
        const T along = (gradient * normalised).sum() / width;
        gradient = (gradient - mean - normalised * along) * s[1];
        if (residual) gradient += view<T>(residual).row(i).array();
        view<T>(dx).row(i) = gradient.matrix();
    }
}

}  // namespace foreshard::runtime::cpu
