#pragma once

#include <cmath>

#include "runtime/cuda/bodies/block.hpp"

/// LayerNorm (centred) and RMSNorm, a block per row; weight gradients a block per group of columns.
namespace foreshard::runtime::cuda {

template <class A, class C>
struct NormStatistics {
    const A* x;
    C* statistics;
    std::int64_t columns;
    bool centred;
    template <class Sync>
    FORESHARD_KERNEL void operator()(const Block<Sync>& block, std::byte* memory) const {
        C* shared = reinterpret_cast<C*>(memory);
        const A* row = x + block.index * columns;
        C mean = 0;
        if (centred) {
            C sum = 0;
            for (std::int64_t j = block.thread; j < columns; j += block.threads) sum += static_cast<C>(row[j]);
            mean = reduce(block, sum, shared, Plus()) / static_cast<C>(columns);
        }
        C squares = 0;
        for (std::int64_t j = block.thread; j < columns; j += block.threads) {
            const C d = static_cast<C>(row[j]) - mean;
            squares += d * d;
        }
        const C variance = reduce(block, squares, shared, Plus()) / static_cast<C>(columns);
        if (block.thread != 0) return;
        statistics[2 * block.index] = mean;
        statistics[2 * block.index + 1] = C(1) / std::sqrt(variance + C(1e-5));
    }
};

template <class A, class C>
struct Norm {
    const A* x;
    const C* statistics;
    const A* weight;
    const A* bias;  ///< may be none
    A* y;
    std::int64_t columns;
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        const C* s = statistics + 2 * (i / columns);
        const std::int64_t j = i % columns;
        C value = (static_cast<C>(x[i]) - s[0]) * s[1] * static_cast<C>(weight[j]);
        if (bias != nullptr) value += static_cast<C>(bias[j]);
        y[i] = static_cast<A>(value);
    }
};

/// With n = (x - mean) r and g = dy w: dx = r (g - mean(g) - n mean(g n)); RMSNorm has no mean(g). dx may be dy.
template <class A, class C>
struct NormInputGrad {
    const A* dy;
    const A* x;
    const C* statistics;
    const A* weight;
    const A* residual;  ///< may be none
    A* dx;
    std::int64_t columns;
    bool centred;
    template <class Sync>
    FORESHARD_KERNEL void operator()(const Block<Sync>& block, std::byte* memory) const {
        C* shared = reinterpret_cast<C*>(memory);
        const std::int64_t first = block.index * columns;
        const C mean_x = statistics[2 * block.index];
        const C r = statistics[2 * block.index + 1];
        C sum = 0;
        C products = 0;
        for (std::int64_t j = block.thread; j < columns; j += block.threads) {
            const C g = static_cast<C>(dy[first + j]) * static_cast<C>(weight[j]);
            sum += g;
            products += g * (static_cast<C>(x[first + j]) - mean_x) * r;
        }
        const C mean = centred ? reduce(block, sum, shared, Plus()) / static_cast<C>(columns) : C(0);
        const C along = reduce(block, products, shared, Plus()) / static_cast<C>(columns);
        for (std::int64_t j = block.thread; j < columns; j += block.threads) {
            const C g = static_cast<C>(dy[first + j]) * static_cast<C>(weight[j]);
            const C n = (static_cast<C>(x[first + j]) - mean_x) * r;
            C value = (g - mean - n * along) * r;
            if (residual != nullptr) value += static_cast<C>(residual[first + j]);
            dx[first + j] = static_cast<A>(value);
        }
    }
};

template <class A, class C>
struct NormWeightGrad {
    const A* dy;
    const A* x;
    const C* statistics;
    C* dweight;
    std::int64_t rows;
    std::int64_t columns;
    template <class Sync>
    FORESHARD_KERNEL void operator()(const Block<Sync>& block, std::byte* memory) const {
        column_sums(
            block, rows, columns, reinterpret_cast<C*>(memory),
            [this](std::int64_t row, std::int64_t column) {
                const C* s = statistics + 2 * row;
                const std::int64_t i = row * columns + column;
                return static_cast<C>(dy[i]) * (static_cast<C>(x[i]) - s[0]) * s[1];
            },
            [this](std::int64_t column, C sum) { dweight[column] += sum; });
    }
};

/// bias += column sums of dy.
template <class A, class C>
struct BiasGrad {
    const A* dy;
    C* bias;
    std::int64_t rows;
    std::int64_t columns;
    template <class Sync>
    FORESHARD_KERNEL void operator()(const Block<Sync>& block, std::byte* memory) const {
        column_sums(
            block, rows, columns, reinterpret_cast<C*>(memory),
            [this](std::int64_t row, std::int64_t column) { return static_cast<C>(dy[row * columns + column]); },
            [this](std::int64_t column, C sum) { bias[column] += sum; });
    }
};

}  // namespace foreshard::runtime::cuda
