#include <algorithm>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/spec/data_parallel.hpp"
#include "sim/spec/resolve_options.hpp"

/// Defaults of data parallelism, each named in the job's assumptions.
namespace foreshard {

namespace {

/// Horovod's defaults since 0.21: 128 MiB of fusion buffer, a cycle of 1 ms (horovod/common/operations.cc).
constexpr double horovod_fusion_mb = 128.0 * 1.048576;
constexpr double horovod_cycle_ms = 1.0;

class DataParallelSettler {
public:
    DataParallelSettler(const JobRequest& request, Job& job) : request_(request), job_(job), plan_(job.plan) {}

    void settle() {
        settle_kind();
        settle_zero();
        settle_sharding();
        settle_buckets();
        settle_horovod();
        settle_rare_kinds();
    }

private:
    template <class T>
    T value_or_assume(const std::optional<T>& asked, const char* name, T otherwise, const std::string& why = "") {
        if (asked) return *asked;
        job_.assumptions.push_back(fmt::format("{} not given: {}{}{}", name, otherwise, why.empty() ? "" : ", ", why));
        return otherwise;
    }

    bool flag_or_assume(const std::optional<bool>& asked, const char* name, bool otherwise) {
        if (!asked) job_.assumptions.push_back(fmt::format("{} not given: {}", name, otherwise ? "on" : "off"));
        return asked.value_or(otherwise);
    }

    void refuse_unless(bool allowed, const char* flag, bool given, const char* belongs_to) const {
        if (given && !allowed) throw InputError(flag, "", fmt::format("belongs to {}", belongs_to));
    }

    bool kind_is(DataParallelKind kind) const { return plan_.data_parallel == kind; }

    void settle_kind() {
        const auto kind = value_or_assume<std::string>(request_.data_parallel, "data_parallel", "ddp");
        plan_.data_parallel = parse_data_parallel(kind);
    }

    void settle_zero() {
        const bool asked = request_.use_distributed_optimizer.value_or(false);
        if (asked && request_.zero && *request_.zero == 0) {
            throw InputError("--zero", "", "0 contradicts --use-distributed-optimizer, which is ZeRO-1");
        }
        if (is_fsdp(plan_.data_parallel)) {
            settle_fsdp(asked);
            return;
        }
        plan_.zero_stage = asked ? request_.zero.value_or(1) : value_or_assume(request_.zero, "zero", 0);
        plan_.distributed_optimizer = asked || plan_.zero_stage == 1;
        refuse_unless(plan_.zero_stage == 3, "--reshard-after-forward", request_.reshard_after_forward.has_value(),
                      "fsdp1, fsdp2, hsdp and --zero 3");
        plan_.reshard_after_forward = request_.reshard_after_forward.value_or(true);
    }

    /// torch's names: FULL_SHARD is 3; SHARD_GRAD_OP is 2 and keeps parameters from forward to backward. A pipeline
    /// keeps them over all micro-batches (torchtitan parallelize_llama.py: no resharding when pp is enabled).
    void settle_fsdp(bool distributed_optimizer) {
        if (distributed_optimizer) {
            throw InputError("--use-distributed-optimizer", "", "FSDP shards the optimizer itself; leave it out");
        }
        if (request_.zero && *request_.zero != 2 && *request_.zero != 3) {
            throw InputError("--zero", "",
                             fmt::format("{} contradicts FSDP, which is 3, or 2 (SHARD_GRAD_OP)", *request_.zero));
        }
        const bool keeps = request_.zero == 2 || (plan_.pp > 1 && request_.zero != 3);
        plan_.reshard_after_forward = flag_or_assume(request_.reshard_after_forward, "reshard_after_forward", !keeps);
        if (request_.zero && (*request_.zero == 3) != plan_.reshard_after_forward) {
            throw InputError("--zero", "", "3 reshards after forward, 2 does not: leave one of the two flags out");
        }
        plan_.zero_stage = plan_.reshard_after_forward ? 3 : 2;
    }

    void settle_sharding() {
        const bool fsdp = is_fsdp(plan_.data_parallel);
        refuse_unless(fsdp, "--fsdp-shard-size", request_.fsdp_shard_size.has_value(), "fsdp1, fsdp2 and hsdp");
        refuse_unless(!fsdp && shards_optimizer(plan_), "--zero-shard-size", request_.zero_shard_size.has_value(),
                      "--zero 1, 2 or 3 without FSDP");
        refuse_unless(shards_parameters(plan_), "--prefetch-layers", request_.prefetch_layers.has_value(),
                      "FSDP and --zero 3");
        plan_.fsdp_shard_size = request_.fsdp_shard_size.value_or(0);
        plan_.zero_shard_size = request_.zero_shard_size.value_or(0);
        if (kind_is(DataParallelKind::hsdp)) {
            plan_.fsdp_shard_size =
                value_or_assume(request_.fsdp_shard_size, "fsdp_shard_size", replicas_in_node(job_), "one node");
        }
        if (!fsdp && shards_optimizer(plan_) && job_.software.structure.zero_group_in_node) {
            plan_.zero_shard_size = value_or_assume(request_.zero_shard_size, "zero_shard_size", replicas_in_node(job_),
                                                    "one node, by profile " + job_.software.id);
        }
        if (shards_parameters(plan_)) {
            plan_.prefetch_layers = value_or_assume(request_.prefetch_layers, "prefetch_layers", 1);
        }
    }

    void settle_buckets() {
        const bool torch = job_.software.structure.gradient_buckets == GradientBuckets::torch;
        const bool one_process = kind_is(DataParallelKind::dp) || kind_is(DataParallelKind::mirrored);
        const bool always = kind_is(DataParallelKind::horovod) || is_fsdp(plan_.data_parallel) ||
                            (kind_is(DataParallelKind::local_sgd) && torch) ||
                            (kind_is(DataParallelKind::ddp) && (torch || plan_.zero_stage >= 3));
        plan_.overlap_grad_reduce = flag_or_assume(request_.overlap_grad_reduce, "overlap_grad_reduce", always);
        if (one_process && plan_.overlap_grad_reduce) {
            throw InputError("--overlap-grad-reduce", "",
                             fmt::format("{} reduces after backward", to_string(plan_.data_parallel)));
        }
        plan_.overlap_param_gather = flag_or_assume(request_.overlap_param_gather, "overlap_param_gather", false);
        plan_.bucket_mb = request_.bucket_mb.value_or(0.0);
        plan_.first_bucket_mb = request_.first_bucket_mb.value_or(0.0);
        const bool buckets =
            plan_.overlap_grad_reduce && !shards_parameters(plan_) && !kind_is(DataParallelKind::horovod);
        if (!request_.bucket_mb && buckets) job_.assumptions.push_back("bucket_mb not given: " + bucket_rule());
        // Schemes that shard gradients cannot accumulate whole ones, unless a pipeline makes FSDP do so.
        const bool every = (shards_gradients(plan_) && plan_.pp == 1) || kind_is(DataParallelKind::dp);
        plan_.sync_every_microbatch = flag_or_assume(request_.sync_every_microbatch, "sync_every_microbatch", every);
    }

    std::string bucket_rule() const {
        switch (job_.software.structure.gradient_buckets) {
            case GradientBuckets::megatron:
                return "max(40 million, 1 million x dp) parameters on the first rank, one bucket elsewhere";
            case GradientBuckets::torch:
                return "1 MiB, then 25 MiB";
            case GradientBuckets::deepspeed:
                return "500 million elements";
        }
        return "";
    }

    void settle_horovod() {
        const bool horovod = kind_is(DataParallelKind::horovod);
        refuse_unless(horovod, "--fusion-threshold-mb", request_.fusion_threshold_mb.has_value(), "horovod");
        refuse_unless(horovod, "--cycle-time-ms", request_.cycle_time_ms.has_value(), "horovod");
        if (!horovod) return;
        plan_.fusion_threshold_mb =
            value_or_assume(request_.fusion_threshold_mb, "fusion_threshold_mb", horovod_fusion_mb);
        plan_.cycle_time_ms = value_or_assume(request_.cycle_time_ms, "cycle_time_ms", horovod_cycle_ms);
    }

    void settle_rare_kinds() {
        const bool local = kind_is(DataParallelKind::local_sgd);
        const bool async = kind_is(DataParallelKind::async_sgd);
        refuse_unless(local, "--local-steps", request_.local_steps.has_value(), "local-sgd");
        refuse_unless(local, "--local-group-size", request_.local_group_size.has_value(), "local-sgd");
        refuse_unless(async, "--softsync", request_.softsync.has_value(), "async-sgd");
        refuse_unless(uses_parameter_server(plan_), "--parameter-servers", request_.parameter_servers.has_value(),
                      "parameter-server and async-sgd");
        if (local) {
            plan_.local_steps = value_or_assume(request_.local_steps, "local_steps", 100);
            plan_.local_group_size =
                value_or_assume(request_.local_group_size, "local_group_size", replicas_in_node(job_));
        }
        if (async) plan_.softsync = value_or_assume(request_.softsync, "softsync", plan_.dp, "fully asynchronous");
        if (uses_parameter_server(plan_)) {
            plan_.parameter_servers = value_or_assume(request_.parameter_servers, "parameter_servers", 1);
        }
        plan_.offload_optimizer = flag_or_assume(request_.offload_optimizer, "offload_optimizer", false);
        plan_.offload_parameters = request_.offload_parameters.value_or(false);
        plan_.offload_activation_layers = request_.offload_activation_layers.value_or(0);
    }

    const JobRequest& request_;
    Job& job_;
    ParallelPlan& plan_;
};

}  // namespace

int replicas_in_node(const Job& job) {
    const ParallelPlan& plan = job.plan;
    const int node = std::max(job.cluster.gpus_per_node, 1);
    return std::clamp(node / std::max(plan.tp, 1), 1, std::max(plan.dp * plan.cp, 1));
}

void settle_data_parallel(const JobRequest& request, Job& job) {
    DataParallelSettler(request, job).settle();
}

}  // namespace foreshard
