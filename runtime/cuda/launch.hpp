#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/bf16.hpp"
#include "runtime/cuda/bodies/block.hpp"
#include "runtime/cuda/queue.hpp"
#include "runtime/tensor.hpp"

#ifdef __CUDACC__
#include "runtime/cuda/check.hpp"
#else
#include "runtime/cuda/emulate.hpp"
#endif

/// Starts works on a queue. Included by .cu files only; without nvcc they run on the calling thread (emulate.hpp).
namespace foreshard::runtime::cuda {

inline constexpr int block_threads = 256;

#ifdef __CUDACC__

struct ThreadsSync {
    __device__ void operator()() const { __syncthreads(); }
};

template <class Work>
__global__ void each_kernel(Work work, std::int64_t count) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        work(i);
    }
}

template <class Work>
__global__ void blocks_kernel(Work work) {
    extern __shared__ double memory[];
    const Block<ThreadsSync> block{blockIdx.x, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), {}};
    work(block, reinterpret_cast<std::byte*>(memory));
}

/// work(i) for i in [0, count).
template <class Work>
void launch_each(Queue queue, const char* name, const Work& work, std::int64_t count) {
    if (count == 0) return;
    constexpr std::int64_t most = std::int64_t{1} << 20;
    const std::int64_t blocks = parts(count, block_threads);
    each_kernel<<<static_cast<unsigned>(blocks < most ? blocks : most), block_threads, 0, queue>>>(work, count);
    check_launch(name);
}

/// work(block, shared memory) for so many blocks.
template <class Work>
void launch_blocks(Queue queue, const char* name, const Work& work, std::int64_t blocks, std::size_t shared,
                   int threads = block_threads) {
    if (blocks == 0) return;
    constexpr std::size_t without_asking = 48 << 10;
    if (shared > without_asking) {
        check(cudaFuncSetAttribute(blocks_kernel<Work>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shared)),
              name);
    }
    blocks_kernel<<<static_cast<unsigned>(blocks), threads, shared, queue>>>(work);
    check_launch(name);
}

#endif

/// Types of a kernel: activations, and sums and states.
template <class Activation, class State>
struct Types {
    using A = Activation;
    using C = State;
};

/// Calls run(Types) for tensors of this activation type.
template <class Run>
void with_types(ElementType type, const Run& run) {
    switch (type) {
        case ElementType::fp32:
            return run(Types<float, float>());
        case ElementType::fp64:
            return run(Types<double, double>());
        case ElementType::bf16:
            return run(Types<Bf16, float>());
    }
}

template <class T>
T* data_of(Tensor tensor) {
    return reinterpret_cast<T*>(tensor.data);
}

}  // namespace foreshard::runtime::cuda
