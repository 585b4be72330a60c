#pragma once

#include "runtime/cuda/bodies/block.hpp"

/// Rows of embedding tables.
namespace foreshard::runtime::cuda {

/// Row ids[i] - first, or zeros where the table has no such row.
template <class A>
struct TakeRows {
    const std::int32_t* ids;
    std::int32_t first;
    const A* table;
    std::int64_t table_rows;
    A* y;
    std::int64_t columns;
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        const std::int64_t row = static_cast<std::int64_t>(ids[i / columns]) - first;
        const bool held = row >= 0 && row < table_rows;
        y[i] = held ? table[row * columns + i % columns] : static_cast<A>(0.0F);
    }
};

template <class A, class C>
struct AddRows {
    const std::int32_t* ids;
    const A* table;
    A* y;
    std::int64_t columns;
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        const C row = static_cast<C>(table[ids[i / columns] * columns + i % columns]);
        y[i] = static_cast<A>(static_cast<C>(y[i]) + row);
    }
};

/// Gradients of the table's rows: a block for each row that occurs, which adds up its tokens in their order, so that no
/// two blocks write to one place.
template <class A, class C>
struct RowsGrad {
    const std::int32_t* rows;    ///< per block
    const std::int32_t* bounds;  ///< per block and one more: into tokens
    const std::int32_t* tokens;
    const A* dy;
    C* table;
    std::int64_t columns;
    template <class Sync>
    FORESHARD_KERNEL void operator()(const Block<Sync>& block, std::byte* /*memory*/) const {
        for (std::int64_t j = block.thread; j < columns; j += block.threads) {
            C sum = 0;
            for (std::int32_t t = bounds[block.index]; t < bounds[block.index + 1]; ++t) {
                sum += static_cast<C>(dy[tokens[t] * columns + j]);
            }
            table[rows[block.index] * columns + j] += sum;
        }
    }
};

}  // namespace foreshard::runtime::cuda
