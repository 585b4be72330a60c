#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/spec/data_parallel.hpp"
#include "sim/spec/launch_config.hpp"
#include "sim/spec/layout.hpp"
#include "sim/spec/schedule_kinds.hpp"

namespace foreshard {

namespace {

class MegatronArgs {
public:
    explicit MegatronArgs(const Job& job) : job_(job), model_(job.model), plan_(job.plan) {}

    LaunchConfig run() {
        describe();
        add_model();
        add_model_kinds();
        add_experts();
        add_degrees();
        add_pipeline();
        add_layers();
        add_batch();
        add_recompute();
        add_data_parallel();
        add_optimizer_shards();
        add_gradients();
        add_precision();
        return std::move(config_);
    }

private:
    void flag(const char* name) { config_.lines.emplace_back(name); }
    template <class T>
    void value(const char* name, const T& what) {
        config_.lines.push_back(fmt::format("{} {}", name, what));
    }
    void miss(const std::string& what, const std::string& why) { config_.not_expressed.push_back(what + ": " + why); }
    void refuse(const std::string& fields, const std::string& rule, const std::string& nearest) {
        config_.refused.push_back({fields, rule, nearest});
    }

    void describe();
    void add_model();
    void add_model_kinds();
    void add_experts();
    void add_degrees();
    void add_pipeline();
    void add_layers();
    void add_batch();
    void add_recompute();
    void add_data_parallel();
    void add_optimizer_shards();
    void add_gradients();
    void add_precision();
    void add_chunks();

    const Job& job_;
    const ModelSpec& model_;
    const ParallelPlan& plan_;
    LaunchConfig config_;
};

/// Processes are torchrun's to start.
void MegatronArgs::describe() {
    const int node = std::clamp(job_.cluster.gpus_per_node, 1, std::max(job_.gpus, 1));
    config_.notes.push_back(
        fmt::format("Megatron-LM arguments of {} on {} GPUs of {}; data, tokenizer and learning rate "
                    "are yours",
                    model_.id, job_.gpus, job_.cluster.id));
    config_.notes.push_back(fmt::format("torchrun --nnodes {} --nproc-per-node {} {}", (job_.gpus + node - 1) / node,
                                        node, model_.token_types > 0 ? "pretrain_bert.py" : "pretrain_gpt.py"));
    const std::string& profile = job_.software.id;
    if (!profile.starts_with("megatron") && !profile.starts_with("nemo")) {
        miss("software " + profile, "the prediction is of other kernels and defaults than Megatron-LM's");
    }
    if (job_.stage_times) miss("stage_times", "measured times predict, they do not run");
}

void MegatronArgs::add_model() {
    value("--num-layers", model_.num_layers);
    value("--hidden-size", model_.hidden);
    value("--ffn-hidden-size", model_.ffn_hidden);
    value("--num-attention-heads", model_.heads);
    if (model_.kv_heads != model_.heads) {
        flag("--group-query-attention");
        value("--num-query-groups", model_.kv_heads);
    }
    value("--kv-channels", model_.head_dim);
    value("--vocab-size", model_.vocab_size);
    value("--make-vocab-size-divisible-by", std::max(model_.vocab_divisor, 1));
    if (model_.vocab_divisor == 0) {
        miss("make_vocab_size_divisible_by 0", "Megatron-LM pads to a multiple of tp at least");
    }
    // Required, whatever the positions are; learned ones have as many rows.
    const bool learned = model_.positions == PositionKind::learned;
    value("--max-position-embeddings",
          learned ? model_.max_positions : std::max(model_.max_positions, job_.seq_length));
    if (model_.mtp_layers > 0) value("--mtp-num-layers", model_.mtp_layers);
}

void MegatronArgs::add_model_kinds() {
    switch (model_.positions) {
        case PositionKind::learned:
            value("--position-embedding-type", "learned_absolute");
            break;
        case PositionKind::rotary:
            value("--position-embedding-type", "rope");
            break;
        case PositionKind::none:
            value("--position-embedding-type", "none");
            break;
        case PositionKind::alibi:
            refuse("model", "Megatron-LM has no ALiBi positions", "a model with learned or rotary positions");
            break;
    }
    value("--normalization", model_.norm == NormKind::rms_norm ? "RMSNorm" : "LayerNorm");
    if (model_.gated_mlp) flag("--swiglu");
    if (!model_.tied_embeddings) flag("--untie-embeddings-and-output-weights");
    if (!model_.linear_bias) flag("--disable-bias-linear");
    if (!model_.linear_bias && model_.qkv_bias) flag("--add-qkv-bias");
    if (model_.linear_bias && !model_.qkv_bias) miss("qkv_bias false", "biases of linears come all together");
    if (model_.post_norm()) miss("norms behind residuals", "Megatron-LM's BERT has them in front");
    if (model_.embedding_norm) miss("embedding_norm", "there is none behind the embedding");
    const bool encoder = model_.mask == AttentionMask::bidirectional && model_.token_types == 0;
    if (encoder) miss("attention bidirectional", "pretrain_gpt.py is causal");
    const bool flash = job_.software.structure.attention == AttentionKernel::flash;
    value("--attention-backend", flash ? "flash" : "unfused");
}

void MegatronArgs::add_experts() {
    if (!model_.moe) return;
    const MoeSpec& moe = *model_.moe;
    value("--num-experts", moe.num_experts);
    value("--moe-router-topk", moe.topk);
    value("--moe-ffn-hidden-size", moe.ffn_hidden);
    if (moe.shared_ffn_hidden > 0) value("--moe-shared-expert-intermediate-size", moe.shared_ffn_hidden);
    if (moe.first_dense_layers > 0) {
        value("--moe-layer-freq",
              fmt::format("([0]*{}+[1]*{})", moe.first_dense_layers, model_.num_layers - moe.first_dense_layers));
    }
}

void MegatronArgs::add_degrees() {
    value("--tensor-model-parallel-size", plan_.tp);
    value("--pipeline-model-parallel-size", plan_.pp);
    value("--context-parallel-size", plan_.cp);
    if (model_.moe) value("--expert-model-parallel-size", plan_.ep);
    if (plan_.etp > 0) value("--expert-tensor-parallel-size", plan_.etp);
    if (plan_.sequence_parallel) flag("--sequence-parallel");
    if (plan_.tp_comm_overlap) flag("--tp-comm-overlap");
    if (plan_.order == "tp-cp-ep-pp-dp") {
        flag("--use-tp-pp-dp-mapping");
    } else if (plan_.order != "tp-cp-ep-dp-pp") {
        refuse("order", fmt::format("{}: Megatron-LM has two orders of ranks", plan_.order),
               "tp-cp-ep-dp-pp, or tp-cp-ep-pp-dp");
    }
}

void MegatronArgs::add_pipeline() {
    const ScheduleKind kind = plan_.schedule;
    const bool known =
        kind == ScheduleKind::none || kind == ScheduleKind::one_f_one_b || kind == ScheduleKind::interleaved;
    if (job_.schedule_file || !known) {
        const std::string name =
            job_.schedule_file ? "the schedule file " + job_.schedule_file->name : std::string(to_string(kind));
        refuse("schedule", fmt::format("{}: Megatron-LM runs 1F1B, with one chunk a rank or interleaved", name),
               "1f1b, or interleaved-1f1b");
        return;
    }
    if (plan_.placement && *plan_.placement != default_placement(kind)) {
        refuse("placement", fmt::format("{}: Megatron-LM has no other than its own", to_string(*plan_.placement)),
               std::string(to_string(default_placement(kind))));
    }
    if (plan_.microbatch_group_size > 0) {
        value("--microbatch-group-size-per-virtual-pipeline-stage", plan_.microbatch_group_size);
    }
    const ProfileStructure& structure = job_.software.structure;
    const bool chunked = kind == ScheduleKind::interleaved && structure.overlap_p2p_chunked;
    const bool usual = structure.overlap_p2p || chunked;
    if (plan_.overlap_p2p.value_or(usual) == usual) return;
    if (usual) return flag("--no-overlap-p2p-communication");
    miss("overlap_p2p true", "no argument turns it on where the framework of the profile does not do it");
}

void MegatronArgs::add_layers() {
    if (!plan_.layout.empty() || plan_.balance) {
        value("--pipeline-model-parallel-layout", to_string(stage_layout(job_)));
        return;
    }
    if (plan_.first_stage_layers) value("--decoder-first-pipeline-num-layers", *plan_.first_stage_layers);
    if (plan_.last_stage_layers) value("--decoder-last-pipeline-num-layers", *plan_.last_stage_layers);
    if (plan_.embedding_in_split) flag("--account-for-embedding-in-pipeline-split");
    if (plan_.loss_in_split) flag("--account-for-loss-in-pipeline-split");
    if (plan_.vpp > 1) add_chunks();
}

void MegatronArgs::add_chunks() {
    const bool even = !plan_.first_stage_layers && !plan_.last_stage_layers && !plan_.embedding_in_split &&
                      !plan_.loss_in_split && model_.num_layers % (plan_.pp * plan_.vpp) == 0;
    if (even) {
        value("--num-layers-per-virtual-pipeline-stage", model_.num_layers / (plan_.pp * plan_.vpp));
    } else {
        value("--num-virtual-stages-per-pipeline-rank", plan_.vpp);
    }
}

void MegatronArgs::add_batch() {
    value("--seq-length", job_.seq_length);
    value("--micro-batch-size", job_.micro_batch);
    value("--global-batch-size", job_.global_batch);
}

void MegatronArgs::add_recompute() {
    if (plan_.offload_activation_layers > 0) {
        miss(fmt::format("offload_activation_layers {}", plan_.offload_activation_layers),
             "cpu_offloading_num_layers of its configuration has no argument in arguments.py");
    }
    if (plan_.recompute == Recompute::none) return;
    value("--recompute-granularity", to_string(plan_.recompute));
    if (plan_.recompute == Recompute::selective) return;
    value("--recompute-method", plan_.recompute_method == RecomputeMethod::uniform ? "uniform" : "block");
    value("--recompute-num-layers", plan_.recompute_num_layers);
}

void MegatronArgs::add_data_parallel() {
    if (plan_.data_parallel == DataParallelKind::fsdp2) {
        if (plan_.pp > 1) refuse("data_parallel, pp", "Megatron-LM's FSDP has no pipeline", "pp 1, or ddp");
        if (plan_.fsdp_shard_size > 0) {
            refuse("fsdp_shard_size", "torch FSDP2 in Megatron-LM shards over all replicas", "leave it out");
        }
        flag("--use-torch-fsdp2");
        if (!plan_.reshard_after_forward) flag("--torch-fsdp2-no-reshard-after-forward");
        if (!plan_.overlap_grad_reduce) miss("overlap_grad_reduce false", "FSDP reduces during backward");
        return;
    }
    if (plan_.data_parallel != DataParallelKind::ddp) {
        refuse("data_parallel", fmt::format("{}: Megatron-LM has none", to_string(plan_.data_parallel)),
               "ddp, or fsdp2");
        return;
    }
    if (plan_.zero_stage > 1) {
        refuse("zero", fmt::format("{}: Megatron-LM's distributed optimizer is ZeRO-1", plan_.zero_stage),
               "1, or data_parallel fsdp2");
    }
    if (plan_.distributed_optimizer) flag("--use-distributed-optimizer");
    if (plan_.overlap_grad_reduce) flag("--overlap-grad-reduce");
    if (plan_.overlap_param_gather) flag("--overlap-param-gather");
}

void MegatronArgs::add_optimizer_shards() {
    if (plan_.offload_optimizer) flag("--optimizer-cpu-offload");
    if (plan_.offload_parameters) miss("offload_parameters true", "parameters stay on the GPU");
    if (plan_.zero_shard_size == 0) return;
    const int replicas = plan_.dp * plan_.cp;
    if (replicas % plan_.zero_shard_size == 0) {
        value("--num-distributed-optimizer-instances", replicas / plan_.zero_shard_size);
    } else {
        refuse("zero_shard_size", fmt::format("{} does not divide {} replicas", plan_.zero_shard_size, replicas), "");
    }
}

/// Buckets are counted in elements there.
void MegatronArgs::add_gradients() {
    if (plan_.bucket_mb > 0.0) {
        const double bytes = gradient_bytes(job_);
        const double elements = std::round(plan_.bucket_mb * 1e6 / bytes);
        value("--ddp-bucket-size", static_cast<std::int64_t>(elements));
        if (elements * bytes / 1e6 != plan_.bucket_mb) {
            miss(fmt::format("bucket_mb {}", plan_.bucket_mb), "rounded to whole elements");
        }
    }
    if (plan_.first_bucket_mb > 0.0) {
        miss(fmt::format("first_bucket_mb {}", plan_.first_bucket_mb), "all buckets have one size");
    }
    if (plan_.prefetch_layers != 1) {
        miss(fmt::format("prefetch_layers {}", plan_.prefetch_layers), "the framework decides");
    }
    const bool usual = shards_gradients(plan_) && plan_.pp == 1;
    if (plan_.sync_every_microbatch != usual) {
        miss(fmt::format("sync_every_microbatch {}", plan_.sync_every_microbatch), "the scheme decides");
    }
}

/// 8 and 4 bits are formats of products inside training in bf16.
void MegatronArgs::add_precision() {
    switch (plan_.precision) {
        case Precision::fp32:
            config_.notes.emplace_back(
                "precision fp32 is Megatron-LM's default; foreshard takes it from --precision fp32");
            return;
        case Precision::tf32:
            refuse("precision", "tf32: Megatron-LM leaves it to torch's settings", "bf16, fp16 or fp32");
            return;
        case Precision::fp16:
            return flag("--fp16");
        case Precision::bf16:
            return flag("--bf16");
        case Precision::fp8:
            flag("--bf16");
            return value("--fp8-format", "hybrid");
        case Precision::mxfp8:
            flag("--bf16");
            value("--fp8-format", "e4m3");
            return value("--fp8-recipe", "mxfp8");
        case Precision::nvfp4:
            flag("--bf16");
            return value("--fp4-format", "e2m1");
    }
}

}  // namespace

LaunchConfig megatron_args(const Job& job) {
    return MegatronArgs(job).run();
}

}  // namespace foreshard
