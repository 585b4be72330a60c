#include "sim/spec/data_parallel.hpp"

#include <fmt/format.h>

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

std::string data_parallel_in_words(const ParallelPlan& plan) {
    std::string text;
    if (plan.data_parallel != DataParallelKind::ddp) text = to_string(plan.data_parallel);
    if (is_fsdp(plan.data_parallel)) {
        if (!plan.reshard_after_forward) text += " kept after forward";
    } else if (plan.zero_stage >= 2) {
        text = fmt::format("ZeRO-{}", plan.zero_stage);
    } else if (shards_optimizer(plan)) {
        text = "distributed optimizer";
    }
    const int shards = shard_size(plan);
    if (shards_optimizer(plan) && shards < plan.dp * plan.cp) text += fmt::format(" over {} ranks", shards);
    return text;
}

int reduced_gradient_bytes(const Job& job) {
    const int wire = job.software.structure.gradient_reduce_bytes;
    return wire > 0 && shards_parameters(job.plan) ? wire : gradient_bytes(job);
}

}  // namespace foreshard
