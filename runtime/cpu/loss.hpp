#pragma once

#include <cmath>
#include <limits>

#include "runtime/cpu/matrix.hpp"
#include "runtime/device.hpp"

/// Cross-entropy of logits that are cut over the vocabulary (Megatron-LM cross_entropy.py); contracts in device.hpp.
namespace foreshard::runtime::cpu {

template <class T>
void softmax_parts(std::span<const std::int32_t> targets, VocabularyPart part, Tensor logits, SoftmaxParts parts) {
    auto all = view<T>(logits);
    for (std::int64_t i = 0; i < logits.rows; ++i) {
        auto valid = all.row(i).head(part.valid);
        const T most = part.valid > 0 ? valid.maxCoeff() : std::numeric_limits<T>::lowest();
        const std::int64_t own = targets[static_cast<std::size_t>(i)] - part.first;
        const bool here = targets[static_cast<std::size_t>(i)] >= 0 && own >= 0 && own < part.valid;
        data_of<T>(parts.target)[i] = here ? all(i, own) : T(0);
        valid = (valid.array() - most).exp().matrix();
        all.row(i).tail(logits.columns - part.valid).setZero();
        data_of<T>(parts.maximum)[i] = most;
        data_of<T>(parts.sum)[i] = valid.sum();
    }
}

template <class T>
void softmax_rescale(Tensor maximum, Tensor logits, SoftmaxParts parts) {
    for (std::int64_t i = 0; i < maximum.rows; ++i) {
        const T factor = std::exp(data_of<T>(parts.maximum)[i] - data_of<T>(maximum)[i]);
        if (logits) view<T>(logits).row(i) *= factor;
        if (parts.sum) data_of<T>(parts.sum)[i] *= factor;
    }
}

template <class T>
void softmax_divide(Tensor sum, Tensor logits) {
    auto all = view<T>(logits);
    for (std::int64_t i = 0; i < logits.rows; ++i) all.row(i) /= data_of<T>(sum)[i];
}

template <class T>
double cross_entropy(std::span<const std::int32_t> targets, SoftmaxParts parts) {
    double loss = 0.0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        if (targets[i] < 0) continue;
        loss += std::log(static_cast<double>(data_of<T>(parts.sum)[i])) +
                static_cast<double>(data_of<T>(parts.maximum)[i]) - static_cast<double>(data_of<T>(parts.target)[i]);
    }
    return loss;
}

template <class T>
void cross_entropy_grad(std::span<const std::int32_t> targets, VocabularyPart part, double scale,
                        Tensor probabilities) {
    auto all = view<T>(probabilities);
    for (std::int64_t i = 0; i < probabilities.rows; ++i) {
        const std::int32_t target = targets[static_cast<std::size_t>(i)];
        if (target < 0) {
            all.row(i).setZero();
            continue;
        }
        const std::int64_t own = target - part.first;
        if (own >= 0 && own < part.valid) all(i, own) -= T(1);
        all.row(i) *= static_cast<T>(scale);
    }
}

}  // namespace foreshard::runtime::cpu
