#pragma once

#include "sim/plan/buffer_plan.hpp"

/// Buffers of data parallelism: what FSDP and ZeRO gather and reduce, layer by layer, and buckets that stay.
namespace foreshard {

/// Lifetimes of gathered parameters, of unsharded gradients and of reduction buffers (torch _fsdp_collectives.py,
/// _fsdp_param_group.py; DeepSpeed partition_parameters.py).
std::vector<Holding> shard_holdings(const Job& job, const TaskGraph& graph);

/// Buckets that are held all the time: DeepSpeed's reduce buckets, Horovod's fusion buffer, the outputs that
/// torch.nn.DataParallel gathers on GPU 0.
std::vector<NamedBytes> data_parallel_workspaces(const Job& job, const TaskGraph& graph);

}  // namespace foreshard
