#include "sim/spec/data_parallel.hpp"

namespace foreshard {

bool is_fsdp(DataParallelKind kind) {
    return kind == DataParallelKind::fsdp1 || kind == DataParallelKind::fsdp2 || kind == DataParallelKind::hsdp;
}

bool uses_parameter_server(const ParallelPlan& plan) {
    return plan.data_parallel == DataParallelKind::parameter_server ||
           plan.data_parallel == DataParallelKind::async_sgd;
}

bool shards_optimizer(const ParallelPlan& plan) {
    return plan.distributed_optimizer || plan.zero_stage >= 1;
}

bool shards_gradients(const ParallelPlan& plan) {
    return plan.zero_stage >= 2;
}

bool shards_parameters(const ParallelPlan& plan) {
    return plan.zero_stage >= 3 || is_fsdp(plan.data_parallel);
}

int shard_size(const ParallelPlan& plan) {
    const int asked = is_fsdp(plan.data_parallel) ? plan.fsdp_shard_size : plan.zero_shard_size;
    return asked > 0 && shards_optimizer(plan) ? asked : plan.dp * plan.cp;
}

int inner_group_size(const ParallelPlan& plan) {
    return plan.data_parallel == DataParallelKind::local_sgd ? plan.local_group_size : shard_size(plan);
}

int reduced_gradient_bytes(const Job& job) {
    const int wire = job.software.structure.gradient_reduce_bytes;
    return wire > 0 && shards_parameters(job.plan) ? wire : gradient_bytes(job);
}

}  // namespace foreshard
