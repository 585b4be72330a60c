#include "cli/megatron_flags.hpp"

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/plan/schedule_request.hpp"
#include "sim/spec/data_parallel.hpp"

namespace foreshard::cli {

namespace {

constexpr const char* megatron_group = "Megatron-LM";

[[noreturn]] void contradict(const char* flag, const std::string& given, const std::string& found) {
    throw InputError(flag, "", given.empty() ? found : fmt::format("{}: {}", given, found));
}

/// Formats of products inside training in bf16.
void translate_precision(const MegatronFlags& flags, JobRequest& request) {
    if (flags.fp8_recipe && !flags.fp8_format) contradict("--fp8-recipe", *flags.fp8_recipe, "needs --fp8-format");
    if (flags.fp8_format && flags.fp4_format)
        contradict("--fp4-format", *flags.fp4_format, "and --fp8-format: one of them");
    if (!flags.fp8_format && !flags.fp4_format) return;
    if (request.precision && *request.precision != "bf16") {
        contradict(flags.fp8_format ? "--fp8-format" : "--fp4-format", "",
                   fmt::format("is for training in bf16, not in {}", *request.precision));
    }
    const bool blocks = flags.fp8_recipe && *flags.fp8_recipe == "mxfp8";
    request.precision = flags.fp4_format ? "nvfp4" : blocks ? "mxfp8" : "fp8";
}

template <class T>
void set_once(std::optional<T>& target, const T& value, const char* flag, const char* other) {
    if (target && *target != value) contradict(flag, "", fmt::format("contradicts {}", other));
    target = value;
}

void translate_plan(const MegatronFlags& flags, JobRequest& request) {
    if (flags.use_torch_fsdp2) {
        set_once(request.data_parallel, std::string("fsdp2"), "--use-torch-fsdp2", "--data-parallel");
    }
    if (flags.no_reshard_after_forward) {
        set_once(request.reshard_after_forward, false, "--torch-fsdp2-no-reshard-after-forward",
                 "--reshard-after-forward");
    }
    if (flags.use_tp_pp_dp_mapping) {
        set_once(request.order, std::string("tp-cp-ep-pp-dp"), "--use-tp-pp-dp-mapping", "--order");
    }
}

/// The runtime's own profiles differ in attention only.
void choose_attention(const MegatronFlags& flags, const JobRequest& file, JobRequest& request) {
    const bool flash = flags.use_flash_attn || (flags.attention_backend && *flags.attention_backend == "flash");
    const auto& software = request.software ? request.software : file.software;
    const auto* name = software ? std::get_if<std::string>(&*software) : nullptr;
    if (flash && name != nullptr && *name == "foreshard") request.software = std::string("foreshard-flash");
}

void check_attention(const MegatronFlags& flags, const Job& job) {
    const AttentionKernel kernel = job.software.structure.attention;
    if (flags.use_flash_attn && kernel != AttentionKernel::flash) {
        contradict("--use-flash-attn", "", fmt::format("the software {} has other attention", job.software.id));
    }
    if (!flags.attention_backend || *flags.attention_backend == "auto") return;
    const bool flash = *flags.attention_backend == "flash" || *flags.attention_backend == "fused";
    if (flash == (kernel == AttentionKernel::flash)) return;
    contradict("--attention-backend", *flags.attention_backend,
               fmt::format("the software {} has {} attention", job.software.id,
                           kernel == AttentionKernel::flash ? "flash" : "unfused"));
}

const char* name_of(PositionKind kind) {
    switch (kind) {
        case PositionKind::learned:
            return "learned_absolute";
        case PositionKind::rotary:
            return "rope";
        case PositionKind::alibi:
            return "alibi";
        case PositionKind::none:
            return "none";
    }
    return "";
}

std::string layer_freq(const ModelSpec& model) {
    const int dense = model.moe->first_dense_layers;
    return dense == 0 ? "1" : fmt::format("([0]*{}+[1]*{})", dense, model.num_layers - dense);
}

void check_model(const MegatronFlags& flags, const ModelSpec& model) {
    const auto agree = [&](const char* flag, const std::optional<std::string>& given, const std::string& has) {
        if (given && *given != has) contradict(flag, *given, fmt::format("the model {} has {}", model.id, has));
    };
    agree("--position-embedding-type", flags.position_embedding_type, name_of(model.positions));
    agree("--normalization", flags.normalization, model.norm == NormKind::rms_norm ? "RMSNorm" : "LayerNorm");
    if (flags.disable_bias_linear && model.linear_bias) {
        contradict("--disable-bias-linear", "", fmt::format("the model {} has biases", model.id));
    }
    if (flags.add_qkv_bias && !model.qkv_bias) {
        contradict("--add-qkv-bias", "", fmt::format("the model {} has none", model.id));
    }
    if (!flags.shared_expert_size && !flags.moe_layer_freq) return;
    if (!model.moe) contradict("--num-experts", "", fmt::format("the model {} has no experts", model.id));
    agree("--moe-layer-freq", flags.moe_layer_freq, layer_freq(model));
    if (flags.shared_expert_size && *flags.shared_expert_size != model.moe->shared_ffn_hidden) {
        contradict("--moe-shared-expert-intermediate-size", std::to_string(*flags.shared_expert_size),
                   fmt::format("the model {} has {}", model.id, model.moe->shared_ffn_hidden));
    }
}

/// In units that depend on the job: ranks of an instance, bytes of an element.
void translate_sizes(const MegatronFlags& flags, const Job& job, JobRequest& request) {
    if (flags.optimizer_instances) {
        const int replicas = job.plan.dp * job.plan.cp;
        const int instances = *flags.optimizer_instances;
        if (instances < 1 || replicas % instances != 0) {
            contradict("--num-distributed-optimizer-instances", std::to_string(instances),
                       fmt::format("must divide the {} replicas", replicas));
        }
        set_once(request.zero_shard_size, replicas / instances, "--num-distributed-optimizer-instances",
                 "--zero-shard-size");
    }
    if (flags.ddp_bucket_size) {
        const double mb = static_cast<double>(*flags.ddp_bucket_size) * gradient_bytes(job) / 1e6;
        set_once(request.bucket_mb, mb, "--ddp-bucket-size", "--bucket-mb");
    }
}

void add_plan_flags(CLI::App& command, MegatronFlags& flags) {
    command.add_flag("--use-torch-fsdp2", flags.use_torch_fsdp2, "--data-parallel fsdp2")->group(megatron_group);
    command
        .add_flag("--torch-fsdp2-no-reshard-after-forward", flags.no_reshard_after_forward,
                  "--no-reshard-after-forward")
        ->group(megatron_group);
    command.add_flag("--use-tp-pp-dp-mapping", flags.use_tp_pp_dp_mapping, "--order tp-cp-ep-pp-dp")
        ->group(megatron_group);
    command
        .add_option("--num-distributed-optimizer-instances", flags.optimizer_instances,
                    "Copies of the optimizer state: --zero-shard-size replicas / this")
        ->group(megatron_group);
    command.add_option("--ddp-bucket-size", flags.ddp_bucket_size, "--bucket-mb in elements")
        ->check(CLI::PositiveNumber)
        ->group(megatron_group);
    command.add_option("--fp8-format", flags.fp8_format, "--precision fp8, or with --fp8-recipe mxfp8 mxfp8")
        ->check(CLI::IsMember({"hybrid", "e4m3"}))
        ->group(megatron_group);
    command.add_option("--fp8-recipe", flags.fp8_recipe, "Scaling of fp8")
        ->check(CLI::IsMember({"delayed", "tensorwise", "blockwise", "mxfp8"}))
        ->group(megatron_group);
    command.add_option("--fp4-format", flags.fp4_format, "--precision nvfp4")
        ->check(CLI::IsMember({"e2m1"}))
        ->group(megatron_group);
}

void add_agreeing_flags(CLI::App& command, MegatronFlags& flags) {
    command
        .add_option("--attention-backend", flags.attention_backend,
                    "Must agree with the software; flash makes foreshard foreshard-flash")
        ->check(CLI::IsMember({"flash", "fused", "unfused", "local", "auto"}))
        ->group(megatron_group);
    command.add_flag("--use-flash-attn", flags.use_flash_attn, "--attention-backend flash")->group(megatron_group);
    command
        .add_option("--position-embedding-type", flags.position_embedding_type,
                    "Must be the model's: learned_absolute, rope or none")
        ->group(megatron_group);
    command.add_option("--normalization", flags.normalization, "Must be the model's: LayerNorm or RMSNorm")
        ->group(megatron_group);
    command
        .add_flag("--group-query-attention", flags.group_query_attention,
                  "Says nothing beside --num-query-groups or the model")
        ->group(megatron_group);
    command.add_flag("--disable-bias-linear", flags.disable_bias_linear, "Must be the model's")->group(megatron_group);
    command.add_flag("--add-qkv-bias", flags.add_qkv_bias, "Must be the model's")->group(megatron_group);
    command
        .add_option("--moe-shared-expert-intermediate-size", flags.shared_expert_size,
                    "Must be the model's: width of the shared expert")
        ->group(megatron_group);
    command.add_option("--moe-layer-freq", flags.moe_layer_freq, "Must be the model's, e.g. ([0]*1+[1]*26)")
        ->group(megatron_group);
}

}  // namespace

bool MegatronFlags::any() const {
    const bool plan = use_torch_fsdp2 || no_reshard_after_forward || use_tp_pp_dp_mapping || optimizer_instances ||
                      ddp_bucket_size || fp8_format || fp8_recipe || fp4_format;
    const bool kernels = attention_backend || use_flash_attn;
    return plan || kernels || position_embedding_type || normalization || group_query_attention ||
           disable_bias_linear || add_qkv_bias || shared_expert_size || moe_layer_freq;
}

void add_megatron_flags(CLI::App& command, MegatronFlags& flags) {
    add_plan_flags(command, flags);
    add_agreeing_flags(command, flags);
}

JobRequest translated(const MegatronFlags& flags, const JobRequest& file, JobRequest request) {
    if (!flags.any()) return request;
    translate_precision(flags, request);
    translate_plan(flags, request);
    choose_attention(flags, file, request);
    const Job job = resolve(with_schedule_counts(merge(file, request)));
    check_attention(flags, job);
    check_model(flags, job.model);
    translate_sizes(flags, job, request);
    return request;
}

}  // namespace foreshard::cli
