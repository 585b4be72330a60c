#pragma once

#include <optional>

#include "sim/cost/cost_model.hpp"
#include "sim/cost/durations.hpp"
#include "sim/engine/async_sgd.hpp"
#include "sim/plan/data_parallel/gradient_buckets.hpp"

/// Data-parallel schemes whose order of events depends on times.
namespace foreshard {

/// A server's update runs on the host: memory bandwidth of a two-socket server of 2018-22, eight channels in use.
inline constexpr double host_bytes_per_second = 100e9;

/// Horovod's fused reductions, fixed by one dry run with every tensor on its own: which gradients share a buffer, and
/// how long each reduction waits for its cycle. One entry per stage; empty for other schemes.
std::vector<StageBuckets> fused_buckets(const Job& job, const Schedule& schedule, const CostModel& cost,
                                        const NetworkModel& network);

/// Parameter server and async SGD: simulates the queue with the learner's compute time, and sets the times of pull and
/// push so that a learner's step takes dp / throughput. Empty for other schemes.
std::optional<AsyncSgdResult> serve_learners(const Job& job, const TaskGraph& graph, Durations& durations);

}  // namespace foreshard
