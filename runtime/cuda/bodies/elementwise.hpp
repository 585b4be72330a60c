#pragma once

#include <cmath>

#include "runtime/cuda/bodies/block.hpp"

/// Work per element; A is the type of activations, C that of sums and states. Contracts in device.hpp.
namespace foreshard::runtime::cuda {

template <class A>
struct Fill {
    A* to;
    A value;
    FORESHARD_KERNEL void operator()(std::int64_t i) const { to[i] = value; }
};

template <class From, class To>
struct Convert {
    const From* from;
    To* to;
    FORESHARD_KERNEL void operator()(std::int64_t i) const { to[i] = static_cast<To>(from[i]); }
};

template <class A, class C>
struct Add {
    const A* from;
    A* to;
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        to[i] = static_cast<A>(static_cast<C>(to[i]) + static_cast<C>(from[i]));
    }
};

template <class A, class C>
struct Spoil {
    A* data;
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        data[i] = static_cast<A>(2 * static_cast<C>(data[i]) + 1);
    }
};

/// Hendrycks and Gimpel, arXiv 1606.08415.
template <class C>
FORESHARD_KERNEL C gelu(C x) {
    return C(0.5) * x * (C(1) + std::erf(x * C(0.70710678118654752440)));
}
template <class C>
FORESHARD_KERNEL C gelu_slope(C x) {
    const C density = C(0.39894228040143267794) * std::exp(C(-0.5) * x * x);
    return C(0.5) * (C(1) + std::erf(x * C(0.70710678118654752440))) + x * density;
}
template <class C>
FORESHARD_KERNEL C sigmoid(C x) {
    return C(1) / (C(1) + std::exp(-x));
}

template <class A, class C>
struct Gelu {
    const A* x;
    A* y;
    FORESHARD_KERNEL void operator()(std::int64_t i) const { y[i] = static_cast<A>(gelu(static_cast<C>(x[i]))); }
};
template <class A, class C>
struct GeluGrad {
    const A* x;
    const A* dy;
    A* dx;
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        dx[i] = static_cast<A>(static_cast<C>(dy[i]) * gelu_slope(static_cast<C>(x[i])));
    }
};

/// x(T, 2 width) holds gate and up side by side.
template <class A, class C>
struct Swiglu {
    const A* x;
    A* y;
    std::int64_t width;
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        const std::int64_t gate_at = i / width * 2 * width + i % width;
        const C gate = static_cast<C>(x[gate_at]);
        y[i] = static_cast<A>(gate * sigmoid(gate) * static_cast<C>(x[gate_at + width]));
    }
};
template <class A, class C>
struct SwigluGrad {
    const A* x;
    const A* dy;
    A* dx;
    std::int64_t width;
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        const std::int64_t gate_at = i / width * 2 * width + i % width;
        const C gate = static_cast<C>(x[gate_at]);
        const C up = static_cast<C>(x[gate_at + width]);
        const C g = static_cast<C>(dy[i]);
        const C s = sigmoid(gate);
        dx[gate_at] = static_cast<A>(g * up * s * (C(1) + gate * (C(1) - s)));
        dx[gate_at + width] = static_cast<A>(g * gate * s);
    }
};

/// y = x + branch + bias; x and bias may be none.
template <class A, class C>
struct Residual {
    const A* x;
    const A* branch;
    const A* bias;
    A* y;
    std::int64_t columns;
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        C sum = static_cast<C>(branch[i]);
        if (x != nullptr) sum += static_cast<C>(x[i]);
        if (bias != nullptr) sum += static_cast<C>(bias[i % columns]);
        y[i] = static_cast<A>(sum);
    }
};

template <class C>
struct AdamNumbers {
    C rate;
    C beta1;
    C beta2;
    C epsilon;
    C keep;         ///< 1 - rate x weight decay
    C first_scale;  ///< 1 / (1 - beta1^step)
    C second_scale;
};

template <class A, class C>
struct AdamW {
    AdamNumbers<C> numbers;
    const C* gradient;
    C* first_moment;
    C* second_moment;
    C* weight;
    A* copy;  ///< may be none
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        const AdamNumbers<C>& n = numbers;
        const C g = gradient[i];
        const C m = n.beta1 * first_moment[i] + (C(1) - n.beta1) * g;
        const C v = n.beta2 * second_moment[i] + (C(1) - n.beta2) * g * g;
        first_moment[i] = m;
        second_moment[i] = v;
        const C updated = weight[i] * n.keep - n.rate * m * n.first_scale / (std::sqrt(v * n.second_scale) + n.epsilon);
        weight[i] = updated;
        if (copy != nullptr) copy[i] = static_cast<A>(updated);
    }
};

template <class A, class C>
struct Sgd {
    C rate;
    const C* gradient;
    C* weight;
    A* copy;  ///< may be none
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        const C updated = weight[i] - rate * gradient[i];
        weight[i] = updated;
        if (copy != nullptr) copy[i] = static_cast<A>(updated);
    }
};

}  // namespace foreshard::runtime::cuda
