#pragma once

#include <string>
#include <vector>

#include "runtime/job_run.hpp"
#include "sim/spec/job_request.hpp"

/// Plans that are compared with one rank: tiny models, up to eight ranks, every schedule that flushes.
namespace foreshard::runtime {

/// A value of every axis of the grid, as indices.
struct GridPoint {
    int model = 0;  ///< gpt, llama, bert
    int dp = 0;
    int tp = 0;
    int pp = 0;
    int schedule = 0;
    int scheme = 0;  ///< of data parallelism
    int recompute = 0;
    int sequence_parallel = 0;
    int overlap = 0;  ///< of gradient reduction, in small buckets
    bool operator==(const GridPoint&) const = default;
};
inline constexpr int grid_axes = 9;

std::string to_string(const GridPoint& point);

/// The point's job, or in short why it has none: the options that do not go together, or that the runtime does not
/// execute.
struct GridJob {
    std::optional<Job> job;
    std::string refusal;
};
GridJob grid_job(const GridPoint& point);

/// The point's job; nothing when its values do not go together, or the runtime does not execute it.
std::optional<Job> job_of(const GridPoint& point);

/// The same job with flash attention.
Job with_flash_attention(Job job);

/// Every point that may have a job.
std::vector<GridPoint> full_grid();

/// Points in which every pair of values of two axes that some drawn job has occurs at least once.
/// @param draws random points to choose from
std::vector<GridPoint> covering_points(int draws, std::uint64_t seed);

/// Trains and compares; fp64 unless said otherwise.
Outcome check_point(const Job& job, ElementType type = ElementType::fp64, std::optional<int> message = std::nullopt);

}  // namespace foreshard::runtime
