#pragma once

#include <cstddef>
#include <cstdint>

/// The only macro of the CUDA half: functions that run inside kernels. Without nvcc they are plain functions, so that
/// tests run the same code on the processor.
#ifdef __CUDACC__
#define FORESHARD_KERNEL __device__
#else
#define FORESHARD_KERNEL
#endif

/// What kernels are made of: a "work" is a struct of operands that is called for every element, or for every block of
/// threads.
namespace foreshard::runtime::cuda {

/// The calling thread's place in its block, and the barrier of the block.
template <class Sync>
struct Block {
    std::int64_t index;
    int thread;
    int threads;  ///< a power of two
    Sync sync;
};

struct Plus {
    template <class T>
    FORESHARD_KERNEL T operator()(T a, T b) const {
        return a + b;
    }
};
struct Larger {
    template <class T>
    FORESHARD_KERNEL T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};

/// Over the values of all threads, by a tree of fixed shape: the same bits in every run. Every thread gets the result.
/// @param shared room for a value of every thread
template <class T, class Sync, class Op>
FORESHARD_KERNEL T reduce(const Block<Sync>& block, T value, T* shared, Op op) {
    shared[block.thread] = value;
    block.sync();
    for (int stride = block.threads / 2; stride > 0; stride /= 2) {
        if (block.thread < stride) shared[block.thread] = op(shared[block.thread], shared[block.thread + stride]);
        block.sync();
    }
    const T result = shared[0];
    block.sync();  // before shared is used again
    return result;
}

/// Columns that a block of column sums takes side by side.
inline constexpr int summed_columns = 32;

/// Sums term(row, column) over rows for `summed_columns` columns from block.index on, in a fixed order, and calls
/// take(column, sum). Threads are a multiple of summed_columns, or fewer.
template <class T, class Sync, class Term, class Take>
FORESHARD_KERNEL void column_sums(const Block<Sync>& block, std::int64_t rows, std::int64_t columns, T* shared,
                                  const Term& term, const Take& take) {
    const int width = block.threads < summed_columns ? block.threads : summed_columns;
    const int lanes = block.threads / width;
    const int lane = block.thread / width;
    for (int place = block.thread % width; place < summed_columns; place += width) {
        const std::int64_t column = block.index * summed_columns + place;
        T sum = 0;
        for (std::int64_t row = lane; column < columns && row < rows; row += lanes) sum += term(row, column);
        shared[block.thread] = sum;
        block.sync();
        if (lane == 0 && column < columns) {
            for (int other = 1; other < lanes; ++other) sum += shared[other * width + block.thread];
            take(column, sum);
        }
        block.sync();
    }
}

constexpr std::int64_t parts(std::int64_t count, std::int64_t size) {
    return (count + size - 1) / size;
}

}  // namespace foreshard::runtime::cuda
