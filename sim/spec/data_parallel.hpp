#pragma once

#include <string>

#include "sim/spec/job.hpp"

/// What a plan shards, and over how many ranks. Replicas are the dp x cp ranks that hold the same part of the model.
namespace foreshard {

/// fsdp1, fsdp2 or hsdp.
bool is_fsdp(DataParallelKind kind);
/// parameter_server or async_sgd.
bool uses_parameter_server(const ParallelPlan& plan);

/// Sharding of optimizer state, of gradients, of parameters (ZeRO-1, 2, 3 in this order; each includes the one before).
bool shards_optimizer(const ParallelPlan& plan);
bool shards_gradients(const ParallelPlan& plan);
bool shards_parameters(const ParallelPlan& plan);

/// Ranks over which whatever is sharded is spread; replicas / shard_size copies exist.
int shard_size(const ParallelPlan& plan);

/// Ranks that agree first, before the rest of the replicas do: the shard group, or the inner group of local SGD.
/// Equal to the number of replicas when there is one level.
int inner_group_size(const ParallelPlan& plan);

/// "", "distributed optimizer", "ZeRO-3", "fsdp2, shards of 8", ...: the scheme in words.
std::string data_parallel_in_words(const ParallelPlan& plan);

/// Bytes of a gradient element on the wire.
int reduced_gradient_bytes(const Job& job);

}  // namespace foreshard
