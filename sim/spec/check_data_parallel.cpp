#include <algorithm>

#include <fmt/format.h>

#include "sim/spec/check_run.hpp"
#include "sim/spec/data_parallel.hpp"
#include "sim/spec/layout.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard {

namespace {

std::string divisors_text(int number) {
    std::vector<int> all;
    for (int i = 1; i <= number; ++i) {
        if (number % i == 0) all.push_back(i);
    }
    return join(all);
}

void check_zero(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    if (plan.zero_stage < 0 || plan.zero_stage > 3) {
        rules.push_back({"zero", fmt::format("ZeRO stage {}", plan.zero_stage), "0, 1, 2 or 3"});
    } else if (plan.zero_stage >= 2 && plan.pp > 1 && !is_fsdp(plan.data_parallel)) {
        // DeepSpeed runtime/pipe/engine.py asserts zero_optimization_stage() < ZeroStageEnum.gradients.
        rules.push_back({"zero, pp",
                         fmt::format("ZeRO-{} shards gradients, which a pipeline accumulates over micro-batches "
                                     "(DeepSpeed's pipeline engine refuses it); pp is {}",
                                     plan.zero_stage, plan.pp),
                         "zero 1, pp 1, or --data-parallel fsdp2"});
    }
    if (plan.zero_stage > 0 && plan.data_parallel != DataParallelKind::ddp && !is_fsdp(plan.data_parallel)) {
        rules.push_back({"zero, data_parallel",
                         fmt::format("{} keeps whole states on every replica, but ZeRO-{} is asked for",
                                     to_string(plan.data_parallel), plan.zero_stage),
                         "zero 0, or --data-parallel ddp"});
    }
    if (plan.overlap_param_gather && (!shards_optimizer(plan) || shards_parameters(plan))) {
        rules.push_back({"overlap_param_gather, use_distributed_optimizer",
                         "only a distributed optimizer gathers parameters once a step", "--use-distributed-optimizer"});
    }
    if (plan.overlap_param_gather && !plan.overlap_grad_reduce) {
        rules.push_back({"overlap_param_gather, overlap_grad_reduce",
                         "overlapped parameter gathers need overlapped gradient reduction (as in Megatron-LM)",
                         "--overlap-grad-reduce"});
    }
}

void check_group(const char* field, int size, int replicas, Rules& rules) {
    if (size == 0 || (size > 0 && replicas % size == 0)) return;
    rules.push_back({fmt::format("{}, dp, cp", field),
                     fmt::format("groups of {} ranks do not divide the {} replicas (dp x cp)", size, replicas),
                     divisors_text(replicas)});
}

/// One process drives all GPUs: they must sit in its host, and nothing else may split the model.
void check_one_process(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    const bool mirrored = plan.data_parallel == DataParallelKind::mirrored;
    if (!mirrored && plan.data_parallel != DataParallelKind::dp) return;
    if (job.gpus > job.cluster.gpus_per_node) {
        rules.push_back(
            {"data_parallel, gpus",
             fmt::format("{} runs on one host of {} GPUs, but gpus is {}", to_string(plan.data_parallel),
                         job.cluster.gpus_per_node, job.gpus),
             mirrored ? fmt::format("at most {} GPUs, or --data-parallel horovod or ddp", job.cluster.gpus_per_node)
                      : fmt::format("at most {} GPUs, or --data-parallel ddp", job.cluster.gpus_per_node)});
    }
    if (plan.tp * plan.pp * plan.cp > 1) {
        rules.push_back({"data_parallel, tp, pp, cp",
                         fmt::format("{} copies the whole model to every GPU, but tp x pp x cp is {}",
                                     to_string(plan.data_parallel), plan.tp * plan.pp * plan.cp),
                         "tp 1, pp 1, cp 1"});
    }
}

/// Horovod's fusion is fixed by a dry run of one backward.
void check_horovod(const Job& job, Rules& rules) {
    if (job.plan.data_parallel != DataParallelKind::horovod || job.plan.pp == 1) return;
    rules.push_back({"data_parallel, pp",
                     fmt::format("horovod reduces one backward at a time, but pp is {}", job.plan.pp),
                     "pp 1, or --data-parallel ddp"});
}

/// The queue of a parameter server is simulated with one learner a GPU.
void check_parameter_server(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    if (!uses_parameter_server(plan)) return;
    if (plan.tp * plan.pp * plan.cp > 1) {
        rules.push_back({"data_parallel, tp, pp, cp",
                         fmt::format("a learner of {} holds the whole model, but tp x pp x cp is {}",
                                     to_string(plan.data_parallel), plan.tp * plan.pp * plan.cp),
                         "tp 1, pp 1, cp 1"});
    }
    if (plan.parameter_servers < 1) rules.push_back({"parameter_servers", "there must be a server", "1"});
    if (plan.data_parallel == DataParallelKind::async_sgd && (plan.softsync < 1 || plan.softsync > plan.dp)) {
        rules.push_back({"softsync, dp",
                         fmt::format("n-softsync splits the {} learners into n = {} groups", plan.dp, plan.softsync),
                         fmt::format("1 to {}", plan.dp)});
    }
}

/// DeepSpeed allows offload_param at stage 3 only (runtime/zero/config.py); torch's CPUOffload moves the optimizer too.
void check_offloaded_parameters(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    if (!plan.offload_parameters) return;
    if (!shards_parameters(plan)) {
        rules.push_back({"offload_parameters, data_parallel, zero",
                         fmt::format("{} with ZeRO-{} keeps whole parameters, which are not gathered from a host",
                                     to_string(plan.data_parallel), plan.zero_stage),
                         "--zero 3, or --data-parallel fsdp2"});
    }
    if (!plan.offload_optimizer) {
        rules.push_back({"offload_parameters, offload_optimizer",
                         "parameters on the host are updated there, so the optimizer must be there too",
                         "--offload-optimizer"});
    }
}

void check_offloaded_layers(const Job& job, Rules& rules) {
    const int layers = job.plan.offload_activation_layers;
    if (layers == 0 || !check_layout(job).empty()) return;
    if (job.stage_times) {
        rules.push_back({"offload_activation_layers, stage_times", "given pass times say nothing of what layers save",
                         "leave one of them out"});
    }
    int largest = 0;
    for (const StageContents& stage : stage_layout(job)) largest = std::max(largest, stage.layers);
    if (layers <= largest) return;
    rules.push_back({"offload_activation_layers, num_layers, pp, vpp",
                     fmt::format("offload of {} layers of every stage, but the largest has {}", layers, largest),
                     fmt::format("0 to {}", largest)});
}

}  // namespace

void check_data_parallel(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    const int replicas = plan.dp * plan.cp;
    check_zero(job, rules);
    check_group("fsdp_shard_size", plan.fsdp_shard_size, replicas, rules);
    check_group("zero_shard_size", plan.zero_shard_size, replicas, rules);
    check_one_process(job, rules);
    check_parameter_server(job, rules);
    check_horovod(job, rules);
    check_offloaded_parameters(job, rules);
    check_offloaded_layers(job, rules);
    if (plan.prefetch_layers < 0) rules.push_back({"prefetch_layers", "must not be negative", "0 or 1"});
    if (plan.data_parallel != DataParallelKind::local_sgd) return;
    check_group("local_group_size", plan.local_group_size, replicas, rules);
    if (plan.local_steps < 1 || plan.local_group_size < 1) {
        rules.push_back({"local_steps, local_group_size", "must be positive", "1"});
    }
}

}  // namespace foreshard
