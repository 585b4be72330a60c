#pragma once

#include "runtime/cpu/matrix.hpp"
#include "runtime/device.hpp"

/// Dense products; contracts in device.hpp.
namespace foreshard::runtime::cpu {

template <class T>
void bias_grad(Tensor dy, Tensor bias) {
    auto sums = view<T>(bias);
    const auto gradient = view<T>(dy);
    for (std::int64_t i = 0; i < dy.rows; ++i) sums.row(0) += gradient.row(i);
}

template <class T>
void linear(Tensor x, Affine w, Tensor y) {
    auto out = view<T>(y);
    out.noalias() = view<T>(x) * view<T>(w.weight).transpose();
    if (w.bias) out.rowwise() += view<T>(w.bias).row(0);
}

template <class T>
void linear_input_grad(Tensor dy, Tensor w, Tensor dx) {
    view<T>(dx).noalias() = view<T>(dy) * view<T>(w);
}

template <class T>
void linear_weight_grad(Tensor dy, Tensor x, Affine dw) {
    view<T>(dw.weight).noalias() += view<T>(dy).transpose() * view<T>(x);
    if (dw.bias) bias_grad<T>(dy, dw.bias);
}

}  // namespace foreshard::runtime::cpu
