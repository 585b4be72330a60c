#pragma once

#include "sim/cost/durations.hpp"

/// Differences between ranks and between runs, applied to the durations of equal ranks.
namespace foreshard {

/// Applies the job's speed and link factors and its jitter. A collective moves at its slowest member's links, its
/// latency stays.
void vary(const Job& job, const TaskGraph& graph, Durations& durations);

/// Time of a compute task on an otherwise idle device: its work's, at the speed of its rank, with jitter.
/// Deterministic in (seed, run, task).
Picoseconds task_time(const TaskGraph& graph, const Durations& durations, std::int32_t task);

/// 1 + deviation z, z the largest of `members` independent standard normal draws, each cut at +-4; at least 0.05.
/// The draws depend on (seed, run, task) only: SplitMix64 as a counter-based generator (Steele, Lea and Flood 2014),
/// made normal by Box and Muller.
double jitter_factor(const Jitter& jitter, std::int32_t task);

}  // namespace foreshard
