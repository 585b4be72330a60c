#pragma once

#include <barrier>
#include <thread>
#include <vector>

#include "runtime/cuda/bodies/block.hpp"
#include "runtime/cuda/queue.hpp"

/// Works on the processor, for tests: the same source as on a GPU, with few threads a block and a real barrier.
namespace foreshard::runtime::cuda {

/// Threads that stand for those of a block; a power of two.
inline thread_local int emulated_threads = 1;

template <class Work>
void launch_each(Queue /*queue*/, const char* /*name*/, const Work& work, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) work(i);
}

/// Shared memory holds NaN at first, as far as it is read as numbers.
template <class Work>
void launch_blocks(Queue /*queue*/, const char* /*name*/, const Work& work, std::int64_t blocks, std::size_t shared,
                   int /*threads*/ = 0) {
    const int threads = emulated_threads;
    std::vector<std::uint64_t> memory((shared + 7) / 8);
    std::barrier<> barrier(threads);
    const auto wait = [&barrier] { barrier.arrive_and_wait(); };
    const auto run = [&](int thread) {
        for (std::int64_t index = 0; index < blocks; ++index) {
            wait();
            if (thread == 0) memory.assign(memory.size(), ~std::uint64_t{0});
            wait();
            work(Block<decltype(wait)>{index, thread, threads, wait}, reinterpret_cast<std::byte*>(memory.data()));
        }
    };
    std::vector<std::jthread> others;
    others.reserve(static_cast<std::size_t>(threads) - 1);
    for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
    run(0);
}

}  // namespace foreshard::runtime::cuda
