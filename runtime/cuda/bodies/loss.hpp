#pragma once

#include <cmath>
#include <limits>

#include "runtime/cuda/bodies/block.hpp"

/// Cross-entropy of logits that are cut over the vocabulary.
namespace foreshard::runtime::cuda {

/// Columns of a rank: ids from `first` on; the first `valid` columns are tokens.
struct Vocabulary {
    std::int32_t first;
    std::int64_t valid;
    /// The column of a target, or -1 when it is not learnt or on another rank.
    constexpr std::int64_t column(std::int32_t target) const {
        const std::int64_t own = static_cast<std::int64_t>(target) - first;
        return target >= 0 && own >= 0 && own < valid ? own : -1;
    }
};

/// A block per token.
template <class A, class C>
struct VocabularySoftmax {
    const std::int32_t* targets;
    Vocabulary part;
    A* logits;
    std::int64_t columns;
    C* maximum;
    C* sum;
    C* target;
    template <class Sync>
    FORESHARD_KERNEL void operator()(const Block<Sync>& block, std::byte* memory) const {
        C* shared = reinterpret_cast<C*>(memory);
        A* row = logits + block.index * columns;
        // Before logits are overwritten, which is behind a barrier.
        if (block.thread == 0) {
            const std::int64_t own = part.column(targets[block.index]);
            target[block.index] = own >= 0 ? static_cast<C>(row[own]) : C(0);
        }
        C most = std::numeric_limits<C>::lowest();
        for (std::int64_t j = block.thread; j < part.valid; j += block.threads) {
            most = Larger()(most, static_cast<C>(row[j]));
        }
        most = reduce(block, most, shared, Larger());
        C total = 0;
        for (std::int64_t j = block.thread; j < columns; j += block.threads) {
            const C e = j < part.valid ? std::exp(static_cast<C>(row[j]) - most) : C(0);
            total += e;
            row[j] = static_cast<A>(e);
        }
        total = reduce(block, total, shared, Plus());
        if (block.thread != 0) return;
        maximum[block.index] = most;
        sum[block.index] = total;
    }
};

/// Exponentials from the rank's maximum to that of all ranks.
template <class A, class C>
struct RescaleLogits {
    const C* own_maximum;
    const C* maximum;
    A* logits;
    std::int64_t columns;
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        const std::int64_t row = i / columns;
        logits[i] = static_cast<A>(static_cast<C>(logits[i]) * std::exp(own_maximum[row] - maximum[row]));
    }
};
template <class C>
struct RescaleSums {
    const C* own_maximum;
    const C* maximum;
    C* sum;
    FORESHARD_KERNEL void operator()(std::int64_t i) const { sum[i] *= std::exp(own_maximum[i] - maximum[i]); }
};

template <class A, class C>
struct DivideLogits {
    const C* sum;
    A* logits;
    std::int64_t columns;
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        logits[i] = static_cast<A>(static_cast<C>(logits[i]) / sum[i / columns]);
    }
};

/// One block; in fp64, in a fixed order.
template <class C>
struct CrossEntropy {
    const std::int32_t* targets;
    const C* maximum;
    const C* sum;
    const C* target;
    std::int64_t tokens;
    double scale;
    double* loss;
    template <class Sync>
    FORESHARD_KERNEL void operator()(const Block<Sync>& block, std::byte* memory) const {
        double total = 0.0;
        for (std::int64_t i = block.thread; i < tokens; i += block.threads) {
            if (targets[i] < 0) continue;
            total += std::log(static_cast<double>(sum[i])) + static_cast<double>(maximum[i]) -
                     static_cast<double>(target[i]);
        }
        total = reduce(block, total, reinterpret_cast<double*>(memory), Plus());
        if (block.thread == 0) *loss += scale * total;
    }
};

/// In place: probabilities to scale (probability - 1[target]).
template <class A, class C>
struct CrossEntropyGrad {
    const std::int32_t* targets;
    Vocabulary part;
    C scale;
    A* probabilities;
    std::int64_t columns;
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        const std::int32_t target = targets[i / columns];
        const C hit = part.column(target) == i % columns ? C(1) : C(0);
        const C gradient = scale * (static_cast<C>(probabilities[i]) - hit);
        probabilities[i] = static_cast<A>(target < 0 ? C(0) : gradient);
    }
};

}  // namespace foreshard::runtime::cuda
