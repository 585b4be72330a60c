#pragma once

#include <vector>

#include "runtime/device.hpp"
#include "sim/spec/job.hpp"

/// What is timed to calibrate a device and the links between ranks, and how often.
namespace foreshard::runtime {

/// y(m, n) = x(m, k) w(n, k)^T, and its two gradients.
struct GemmSize {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    bool operator==(const GemmSize&) const = default;
};

/// Every sample is the mean of `inner` calls in a row.
struct Repeats {
    int warmup = 3;
    int samples = 7;
    int inner = 5;
};

struct BenchSizes {
    std::vector<GemmSize> gemms;
    std::vector<AttentionShape> attentions;
    std::vector<std::int64_t> elements;  ///< of memory-bound kernels and the optimizer
    std::int64_t columns = 1024;         ///< of a row, where rows matter
    std::vector<std::int64_t>
        message_bytes;  ///< of collectives (the larger of what a rank gives and gets) and messages
    GemmSize overlap_gemm{1024, 1024, 1024};
    std::int64_t overlap_bytes = 1 << 22;
    Repeats repeats;
};

enum class Effort : std::uint8_t {
    tiny,           ///< seconds, for tests
    communication,  ///< no kernels: messages and collectives, from small to what gradients take
    quick,          ///< the plan's own sizes, about a minute
    full,           ///< and a sweep around them
};

/// Sizes that a plan's ranks compute and send, and between which others can be interpolated.
BenchSizes bench_sizes(const Job& job, Effort effort);

}  // namespace foreshard::runtime
