#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/spec/data_parallel.hpp"
#include "sim/spec/launch_config.hpp"
#include "sim/spec/layout.hpp"
#include "sim/spec/schedule_kinds.hpp"

namespace foreshard {

namespace {

/// Class names of torch.distributed.pipelining, as pipeline_parallel_schedule takes them.
struct TorchSchedule {
    ScheduleKind kind;
    const char* name;
};
constexpr std::array<TorchSchedule, 7> torch_schedules = {{{ScheduleKind::gpipe, "GPipe"},
                                                           {ScheduleKind::one_f_one_b, "1F1B"},
                                                           {ScheduleKind::interleaved, "Interleaved1F1B"},
                                                           {ScheduleKind::breadth_first, "LoopedBFS"},
                                                           {ScheduleKind::interleaved_zb, "InterleavedZeroBubble"},
                                                           {ScheduleKind::zb_v, "ZBVZeroBubble"},
                                                           {ScheduleKind::dualpipe_v, "DualPipeV"}}};

/// Flavors of torchtitan/models: name, flavor, id of ours.
struct Flavor {
    const char* id;
    const char* model;
    const char* flavor;
};
constexpr std::array<Flavor, 3> flavors = {
    {{"llama3-8b", "llama3", "8B"}, {"llama3-70b", "llama3", "70B"}, {"llama3-405b", "llama3", "405B"}}};

class TorchtitanConfig {
public:
    explicit TorchtitanConfig(const Job& job) : job_(job), plan_(job.plan) {}

    LaunchConfig run() {
        describe();
        add_model();
        add_training();
        add_degrees();
        add_data_parallel();
        if (plan_.pp > 1) add_pipeline();
        add_checkpointing();
        check_rest();
        return std::move(config_);
    }

private:
    void section(const char* name) { config_.lines.push_back(fmt::format("[{}]", name)); }
    template <class T>
    void number(const char* key, const T& what) {
        config_.lines.push_back(fmt::format("{} = {}", key, what));
    }
    void text(const char* key, const std::string& what) {
        config_.lines.push_back(fmt::format("{} = \"{}\"", key, what));
    }
    void miss(const std::string& what, const std::string& why) { config_.not_expressed.push_back(what + ": " + why); }
    void refuse(const std::string& fields, const std::string& rule, const std::string& nearest) {
        config_.refused.push_back({fields, rule, nearest});
    }

    void describe();
    void add_model();
    void add_training();
    void add_degrees();
    void add_data_parallel();
    void add_pipeline();
    void add_schedule();
    void add_stages();
    void add_checkpointing();
    void check_rest();

    const Job& job_;
    const ParallelPlan& plan_;
    LaunchConfig config_;
};

void TorchtitanConfig::describe() {
    const int node = std::clamp(job_.cluster.gpus_per_node, 1, std::max(job_.gpus, 1));
    config_.notes.push_back(
        fmt::format("torchtitan job file of {} on {} GPUs of {}; data, tokenizer and learning rate "
                    "are yours",
                    job_.model.id, job_.gpus, job_.cluster.id));
    config_.notes.push_back(
        fmt::format("torchrun --nnodes {} --nproc-per-node {} -m torchtitan.train "
                    "--job.config_file FILE",
                    (job_.gpus + node - 1) / node, node));
    if (job_.software.id != "torchtitan") {
        miss("software " + job_.software.id, "the prediction is of other kernels and defaults than torchtitan's");
    }
    if (job_.stage_times) miss("stage_times", "measured times predict, they do not run");
}

/// Shapes are flavors in torchtitan's code; a changed shape keeps its id but not its published size.
void TorchtitanConfig::add_model() {
    section("model");
    const auto found =
        std::find_if(flavors.begin(), flavors.end(), [&](const Flavor& flavor) { return job_.model.id == flavor.id; });
    const bool known = found != flavors.end() && job_.model.published_parameters.has_value();
    if (known) {
        text("name", found->model);
        text("flavor", found->flavor);
    } else {
        miss("model " + job_.model.id, "shapes are flavors in torchtitan's code: add one of these sizes");
    }
    if (plan_.precision == Precision::fp8) config_.lines.emplace_back("converters = [\"float8\"]");
    if (plan_.precision == Precision::mxfp8) config_.lines.emplace_back("converters = [\"mx\"]");
}

/// A pipeline takes the whole batch of a replica apart; without one micro-batches are accumulated.
void TorchtitanConfig::add_training() {
    section("training");
    number("local_batch_size", plan_.pp > 1 ? job_.global_batch / plan_.dp : job_.micro_batch);
    number("global_batch_size", job_.global_batch);
    number("seq_len", job_.seq_length);
    switch (plan_.precision) {
        case Precision::fp32:
            text("mixed_precision_param", "float32");
            break;
        case Precision::bf16:
        case Precision::fp8:
        case Precision::mxfp8:
            text("mixed_precision_param", "bfloat16");
            break;
        case Precision::tf32:
        case Precision::fp16:
        case Precision::nvfp4:
            refuse("precision", fmt::format("{}: torchtitan has none", to_string(plan_.precision)),
                   "bf16, fp32, fp8 or mxfp8");
            break;
    }
    const bool offloads = plan_.offload_optimizer && plan_.offload_parameters;
    if (offloads) number("enable_cpu_offload", true);
    if (plan_.offload_optimizer != plan_.offload_parameters) {
        refuse("offload_optimizer, offload_parameters", "torchtitan offloads both or none", "both, or none");
    }
}

void TorchtitanConfig::add_degrees() {
    section("parallelism");
    number("tensor_parallel_degree", plan_.tp);
    number("pipeline_parallel_degree", plan_.pp);
    number("context_parallel_degree", plan_.cp);
    if (job_.model.moe) number("expert_parallel_degree", plan_.ep);
    if (plan_.tp_comm_overlap) number("enable_async_tensor_parallel", true);
    if (plan_.tp > 1 && !plan_.sequence_parallel) miss("sp false", "tensor parallelism is sequence parallel there");
    if (plan_.etp > 0 && plan_.etp != plan_.tp) {
        miss(fmt::format("etp {}", plan_.etp), "experts have the tensor parallelism of the rest");
    }
    if (plan_.order != "tp-cp-ep-dp-pp") {
        refuse("order", fmt::format("{}: torchtitan has one order of ranks", plan_.order), "tp-cp-ep-dp-pp");
    }
}

void TorchtitanConfig::add_data_parallel() {
    const DataParallelKind kind = plan_.data_parallel;
    const bool fsdp = kind == DataParallelKind::fsdp2 || kind == DataParallelKind::hsdp;
    const int shards = fsdp ? (plan_.fsdp_shard_size > 0 ? plan_.fsdp_shard_size / plan_.cp : plan_.dp) : 1;
    const bool plain = kind == DataParallelKind::ddp && plan_.zero_stage == 0;
    if (plan_.dp > 1 && !fsdp && !plain) {
        refuse("data_parallel, zero",
               fmt::format("{}, zero {}: torchtitan has DDP, FSDP2 and HSDP", to_string(kind), plan_.zero_stage),
               "ddp, fsdp2 or hsdp");
        return;
    }
    if (shards < 1 || plan_.dp % shards != 0) {
        refuse("fsdp_shard_size", fmt::format("{} is no part of dp {}", plan_.fsdp_shard_size, plan_.dp), "");
        return;
    }
    number("data_parallel_replicate_degree", plan_.dp / shards);
    number("data_parallel_shard_degree", shards);
    if (fsdp) text("fsdp_reshard_after_forward", plan_.reshard_after_forward ? "always" : "never");
}

void TorchtitanConfig::add_pipeline() {
    add_schedule();
    number("pipeline_parallel_microbatch_size", job_.micro_batch);
    add_stages();
}

/// Schedules without a class there run from their list of actions, with stages in a loop over the ranks.
void TorchtitanConfig::add_schedule() {
    const auto found = std::find_if(torch_schedules.begin(), torch_schedules.end(),
                                    [&](const TorchSchedule& known) { return known.kind == plan_.schedule; });
    const bool own_placement = !plan_.placement || *plan_.placement == default_placement(plan_.schedule);
    if (!job_.schedule_file && found != torch_schedules.end() && own_placement) {
        return text("pipeline_parallel_schedule", found->name);
    }
    const Placement placement = placement_of(plan_);
    const bool looped = placement == Placement::loop || placement == Placement::linear;
    const bool plain =
        job_.schedule_file || !(traits_of(plan_.schedule).asynchronous || vocabulary_split(plan_.schedule));
    if (!looped || !plain) {
        refuse(
            "schedule, placement",
            fmt::format("{}, {}: torchtitan has no class for it, and runs lists of actions with stages in a loop only",
                        to_string(plan_.schedule), to_string(placement)),
            "1f1b, interleaved-1f1b, zb-v or dualpipe-v");
        return;
    }
    text("pipeline_parallel_schedule", "_PipelineScheduleRuntime");
    text("pipeline_parallel_schedule_csv", "schedule.csv");
    config_.notes.emplace_back("schedule.csv is the output of foreshard export --format schedule-csv of the same job");
}

/// The splitter of torchtitan takes layers off the ends by default; other splits are written out.
void TorchtitanConfig::add_stages() {
    const std::vector<StageContents> stages = stage_layout(job_);
    const auto uneven = [&](const StageContents& stage) {
        return stage.layers != stages.front().layers || stage.embedding != (&stage == &stages.front()) ||
               stage.loss != (&stage == &stages.back()) || stage.mtp_layers > 0;
    };
    if (std::none_of(stages.begin(), stages.end(), uneven)) {
        number("pipeline_parallel_layers_per_stage", stages.front().layers);
        number("pipeline_parallel_first_stage_less_layers", 0);
        return number("pipeline_parallel_last_stage_less_layers", 0);
    }
    std::vector<std::string> parts;
    parts.reserve(stages.size());
    for (const StageContents& stage : stages) {
        std::vector<std::string> modules;
        if (stage.embedding) modules.emplace_back("\"tok_embeddings\"");
        for (int i = 0; i < stage.layers; ++i) modules.push_back(fmt::format("\"layers.{}\"", stage.first_layer + i));
        if (stage.loss) modules.insert(modules.end(), {"\"norm\"", "\"output\""});
        parts.push_back(fmt::format("[{}]", fmt::join(modules, ", ")));
    }
    config_.lines.push_back(fmt::format("module_fqns_per_model_part = [{}]", fmt::join(parts, ", ")));
}

void TorchtitanConfig::add_checkpointing() {
    section("activation_checkpoint");
    text("mode", std::string(to_string(plan_.recompute)));
    if (plan_.recompute == Recompute::selective) {
        text("selective_ac_option", "op");
        miss("recompute selective", "by operation it keeps products and attention, and rebuilds the rest of a layer");
    }
    const bool by_layer = plan_.recompute_method == RecomputeMethod::uniform && plan_.recompute_num_layers == 1;
    if (plan_.recompute == Recompute::full && !by_layer) {
        miss(fmt::format("recompute_num_layers {}", plan_.recompute_num_layers), "every layer is rebuilt by itself");
    }
}

void TorchtitanConfig::check_rest() {
    if (job_.model.mtp_layers > 0) miss("mtp_num_layers", "there are no prediction layers");
    if (plan_.offload_activation_layers > 0) miss("offload_activation_layers", "saved tensors stay on the GPU");
    if (plan_.microbatch_group_size > 0) miss("microbatch_group_size", "the schedule decides");
    if (plan_.bucket_mb > 0.0 || plan_.first_bucket_mb > 0.0) miss("bucket_mb", "buckets are torch's");
    if (plan_.zero_shard_size > 0) miss("zero_shard_size", "the optimizer is sharded with the parameters only");
    if (plan_.prefetch_layers != 1) miss("prefetch_layers", "torch decides");
    const bool ddp = plan_.data_parallel == DataParallelKind::ddp;
    if (plan_.dp > 1 && !plan_.overlap_grad_reduce) miss("overlap_grad_reduce false", "torch reduces during backward");
    if (ddp && plan_.overlap_param_gather) miss("overlap_param_gather true", "DDP gathers nothing");
    const bool usual = shards_gradients(plan_) && plan_.pp == 1;
    if (plan_.sync_every_microbatch != usual) miss("sync_every_microbatch", "the scheme decides");
    if (plan_.overlap_p2p && !*plan_.overlap_p2p) miss("overlap_p2p false", "messages overlap compute");
}

}  // namespace

LaunchConfig torchtitan_config(const Job& job) {
    return TorchtitanConfig(job).run();
}

}  // namespace foreshard
