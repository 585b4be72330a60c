#include "cli/flags.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/plan/schedule_request.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard::cli {

namespace {

/// Declares flags of one help group. Names are CLI11's: "--tp,--tensor-model-parallel-size".
class Group {
public:
    Group(CLI::App& command, JobRequest& request, std::string name)
        : command_(command), request_(request), name_(std::move(name)) {}

    template <class T>
    void value(const std::string& names, std::optional<T> JobRequest::*member, const std::string& help) {
        command_.add_option(names, request_.*member, help)->group(name_);
    }

    /// A thing of the catalogue or a file.
    template <class Spec>
    void named(const std::string& names, std::optional<NameOr<Spec>> JobRequest::*member, const std::string& help,
               const std::string& type = "NAME|FILE") {
        std::optional<NameOr<Spec>>& target = request_.*member;
        const auto store = [&target](const std::string& name) { target = name; };
        command_.add_option_function<std::string>(names, store, help)->group(name_)->type_name(type);
    }

    /// A switch; names that start with '!' turn it off.
    void flag(const std::string& names, std::optional<bool> JobRequest::*member, const std::string& help) {
        std::optional<bool>& target = request_.*member;
        const auto store = [&target](std::int64_t count) { target = count > 0; };
        command_.add_flag_function(names, store, help)->group(name_);
    }

private:
    CLI::App& command_;
    JobRequest& request_;
    std::string name_;
};

using R = JobRequest;

void add_inputs(Group group) {
    group.named("--model", &R::model, "Model id, model file or Hugging Face config.json");
    group.named("--cluster", &R::cluster, "Cluster id or file");
    group.named("--software", &R::software, "Framework profile (default megatron-core-te)");
    group.named("--calibration", &R::calibration, "What was measured on a machine (foreshard calibrate)");
    group.named("--stage-times", &R::stage_times, "JSON with times per stage, in place of all computed times", "FILE");
    group.named("--schedule-file", &R::schedule_file, "CSV: a line per rank, a cell per action (2F0, 3I1, 3W1, 3B1)",
                "FILE");
}

void add_degrees(Group group) {
    group.value("--gpus,--world-size", &R::gpus, "GPUs in all (default dp x tp x pp x cp)");
    group.value("--dp,--data-parallel-size", &R::dp, "Data-parallel size (default gpus / (tp x pp x cp))");
    group.value("--tp,--tensor-model-parallel-size", &R::tp, "Tensor-parallel size (default 1)");
    group.value("--pp,--pipeline-model-parallel-size", &R::pp, "Pipeline ranks (default 1)");
    group.value("--vpp,--num-virtual-stages-per-pipeline-rank,--virtual-pipeline-model-parallel-size", &R::vpp,
                "Model chunks a pipeline rank (default what the schedule needs)");
    group.value("--num-layers-per-virtual-pipeline-stage", &R::num_layers_per_virtual_pipeline_stage,
                "Layers a chunk: another way to give --vpp");
    group.value("--cp,--context-parallel-size", &R::cp, "Context-parallel size (default 1)");
    group.value("--ep,--expert-model-parallel-size", &R::ep, "Expert-parallel size (default 1)");
    group.value("--etp,--expert-tensor-parallel-size", &R::etp, "Tensor-parallel size of experts (default tp)");
    group.flag("--sp,--sequence-parallel,!--no-sp,!--no-sequence-parallel", &R::sp, "Sequence parallelism");
    group.value("--order", &R::order, "Axes from inner to outer (default tp-cp-ep-dp-pp)");
    group.value("--mesh", &R::mesh, "Degrees and order at once, axes from outer to inner: pp=2,dp=8,tp=4");
    group.flag("--tp-comm-overlap,!--no-tp-comm-overlap", &R::tp_comm_overlap,
               "Tensor-parallel all-gather and reduce-scatter run under their GEMMs (needs --sp)");
}

void add_batch(Group group) {
    group.value("--mbs,--micro-batch-size", &R::mbs, "Sequences a micro-batch (default 1)");
    group.value("--gbs,--global-batch-size", &R::gbs, "Sequences a step over all ranks");
    group.value("--seq-length", &R::seq_length, "Tokens a sequence (default the model's)");
}

void add_pipeline(Group group) {
    group.value("--schedule", &R::schedule,
                "Pipeline schedule: 1f1b, interleaved-1f1b, zb-v, dualpipe, ...; all: foreshard catalog schedules");
    group.value("--placement", &R::placement, "linear, loop, v, snake or bidirectional");
    group.value("--microbatch-group-size,--microbatch-group-size-per-virtual-pipeline-stage", &R::microbatch_group_size,
                "Micro-batches a chunk's turn (default pp)");
    group.value("--layout,--pipeline-model-parallel-layout", &R::layout,
                "Layers of each stage: 'E|(t|)*3,m|m||L' or 7,8,8,7");
    group.value("--decoder-first-pipeline-num-layers", &R::decoder_first_pipeline_num_layers,
                "Layers of the first rank");
    group.value("--decoder-last-pipeline-num-layers", &R::decoder_last_pipeline_num_layers, "Layers of the last rank");
    group.flag("--account-for-embedding-in-pipeline-split", &R::account_for_embedding_in_pipeline_split,
               "The embedding counts as a layer in the split");
    group.flag("--account-for-loss-in-pipeline-split", &R::account_for_loss_in_pipeline_split,
               "The loss counts as a layer in the split");
    group.flag("--overlap-p2p,--overlap-p2p-communication,!--no-overlap-p2p,!--no-overlap-p2p-communication",
               &R::overlap_p2p, "Pipeline messages overlap compute (default by software)");
    group.flag("--balance,!--no-balance", &R::balance, "Find the layers of every stage that minimise the step");
    group.value("--skew-steps", &R::skew_steps,
                "Run as many steps and take the last: ranks may start it apart (0: one step)");
}

void add_data_parallel(Group group) {
    group.value("--data-parallel", &R::data_parallel,
                "ddp, dp, horovod, mirrored, fsdp1, fsdp2, hsdp, parameter-server, async-sgd or local-sgd (default "
                "ddp)");
    group.value("--zero", &R::zero, "ZeRO stage: 0 to 3 (default 0; FSDP: 3, or 2 = SHARD_GRAD_OP)");
    group.flag("--use-distributed-optimizer,!--no-use-distributed-optimizer", &R::use_distributed_optimizer,
               "Megatron's form of --zero 1");
    group.value("--bucket-mb", &R::bucket_mb, "Gradient bucket, 10^6 bytes (default by software)");
    group.value("--first-bucket-mb", &R::first_bucket_mb, "First gradient bucket, 10^6 bytes (default by software)");
    group.flag("--overlap-grad-reduce,!--no-overlap-grad-reduce", &R::overlap_grad_reduce,
               "Gradients are reduced during backward");
    group.flag("--overlap-param-gather,!--no-overlap-param-gather", &R::overlap_param_gather,
               "Parameters are gathered during forward");
    group.flag("--sync-every-microbatch,!--no-sync", &R::sync_every_microbatch,
               "Gradients are reduced in every backward, not in the last one only (default by scheme)");
    group.flag("--offload-optimizer,--optimizer-cpu-offload,!--no-offload-optimizer", &R::offload_optimizer,
               "Optimizer states and update on the host");
    group.flag("--offload-parameters,!--no-offload-parameters", &R::offload_parameters,
               "Shards of the parameters on the host (ZeRO-3's offload_param, FSDP's CPU offload)");
    group.value("--offload-activation-layers,--cpu-offloading-num-layers", &R::offload_activation_layers,
                "First layers of every stage whose saved tensors wait on the host for backward (default 0)");
}

void add_sharding(Group group) {
    group.flag("--reshard-after-forward,!--no-reshard-after-forward", &R::reshard_after_forward,
               "Parameters are freed after forward and gathered again in backward (FSDP, ZeRO-3)");
    group.value("--fsdp-shard-size,--data-parallel-shard-degree", &R::fsdp_shard_size,
                "Ranks that hold one copy of the parameters (default all replicas; hsdp: one node)");
    group.value("--zero-shard-size", &R::zero_shard_size,
                "Ranks that hold one copy of the optimizer state (default all replicas)");
    group.value("--prefetch-layers", &R::prefetch_layers, "Layers gathered ahead (default 1)");
    group.value("--fusion-threshold-mb", &R::fusion_threshold_mb,
                "Horovod's fusion buffer, 10^6 bytes (default 128 MiB)");
    group.value("--cycle-time-ms", &R::cycle_time_ms, "Horovod's cycle (default 1)");
    group.value("--local-steps", &R::local_steps, "Local SGD: inner steps between outer ones (default 100)");
    group.value("--local-group-size", &R::local_group_size,
                "Local SGD: ranks that agree at every inner step (default one node)");
    group.value("--softsync", &R::softsync,
                "Async SGD: update after floor(learners / n) gradients (default n = learners)");
    group.value("--parameter-servers", &R::parameter_servers, "Hosts that share the parameters (default 1)");
}

void add_memory_and_numbers(Group group, CLI::App& command, JobRequest& request) {
    group.value("--recompute,--recompute-granularity", &R::recompute, "none, selective or full (default none)");
    group.value("--recompute-method", &R::recompute_method, "uniform or block (with full)");
    group.value("--recompute-num-layers", &R::recompute_num_layers, "Layers recomputed at a time (with full)");
    group.value("--precision", &R::precision, "fp32, tf32, fp16, bf16, fp8, mxfp8 or nvfp4 (default by software)");
    for (const std::string name : {"bf16", "fp16"}) {
        command
            .add_flag_callback(
                "--" + name, [&request, name] { request.precision = name; }, "--precision " + name)
            ->group("Precision and recompute");
    }
}

void add_model_changes(Group group) {
    group.value("--num-layers", &R::num_layers, "Layers");
    group.value("--hidden-size", &R::hidden_size, "Width");
    group.value("--ffn-hidden-size", &R::ffn_hidden_size, "Width of the MLP");
    group.value("--num-attention-heads", &R::num_attention_heads, "Query heads");
    group.value("--num-query-groups", &R::num_query_groups, "KV heads");
    group.value("--kv-channels", &R::kv_channels, "Width of a head");
    group.value("--vocab-size", &R::vocab_size, "Vocabulary before padding");
    group.value("--make-vocab-size-divisible-by", &R::make_vocab_size_divisible_by,
                "The vocabulary is padded to a multiple of this times tp; 0: not at all");
    group.value("--max-position-embeddings", &R::max_position_embeddings, "Positions");
    group.value("--num-experts", &R::num_experts, "Routed experts a layer; 0: none");
    group.value("--moe-router-topk", &R::moe_router_topk, "Experts a token");
    group.value("--moe-ffn-hidden-size", &R::moe_ffn_hidden_size, "Width of an expert");
    group.value("--mtp-num-layers", &R::mtp_num_layers, "Multi-token-prediction layers");
    group.flag("--untie-embeddings-and-output-weights", &R::untie_embeddings_and_output_weights,
               "The output layer has weights of its own");
    group.flag("--swiglu", &R::swiglu, "Gated MLP");
}

void add_variability(Group group) {
    group.value("--contention", &R::contention,
                "off, links (communication shares links) or full (and each GPU with compute) (default off)");
    group.value("--speed-factor", &R::speed_factor, "Compute speed of ranks: 0.9, 3:0.9, 8-15:0.9 or pp1:0.9, ...");
    group.value("--jitter-pct", &R::jitter_pct, "Standard deviation of every pass's time, percent");
    group.value("--link-factor", &R::link_factor, "Bandwidth of links: 0.9, nic3:0.5 or nvlink8-15:0.9, ...");
    group.value("--seed", &R::seed, "Of the random numbers");
    group.value("--runs", &R::runs, "Runs with different random numbers, for mean and P90 (default 1)");
    group.flag("--no-symmetry,--expand,!--symmetry", &R::no_symmetry, "Simulate every data-parallel replica by itself");
}

std::vector<std::string> long_flags(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(command->get_name());
    }
    return names;
}

}  // namespace

std::vector<std::string> normalised_arguments(int count, const char* const* arguments) {
    std::vector<std::string> normalised;
    for (int i = 1; i < count; ++i) {
        std::string argument = arguments[i];
        if (argument.starts_with("--")) {
            const std::size_t end = std::min(argument.find('='), argument.size());
            std::replace(argument.begin(), argument.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
        }
        normalised.push_back(std::move(argument));
    }
    return normalised;
}

void add_job_flags(CLI::App& command, JobFlags& flags) {
    JobRequest& request = flags.request;
    command.add_option("--job,--plan", flags.job_file, "A whole job: plan id or JSON file; other flags override it")
        ->group("Job")
        ->type_name("NAME|FILE");
    add_inputs({command, request, "Job"});
    add_degrees({command, request, "Parallelism"});
    add_batch({command, request, "Batch"});
    add_pipeline({command, request, "Pipeline"});
    add_data_parallel({command, request, "Data parallelism"});
    add_sharding({command, request, "Data parallelism"});
    add_memory_and_numbers({command, request, "Precision and recompute"}, command, request);
    add_model_changes({command, request, "Changes to the model"});
    add_variability({command, request, "Variability"});
    add_megatron_flags(command, flags.megatron);
}

void prepare_command(CLI::App& command) {
    command.allow_extras();
    command.set_help_flag("-h,--help", "Print this help");
}

void refuse_extras(const CLI::App& app) {
    const std::vector<std::string> extras = app.remaining();
    if (!extras.empty()) {
        const std::string name = extras.front().substr(0, extras.front().find('='));
        const bool flag = name.starts_with("-");
        const std::string close = did_you_mean(name, flag ? long_flags(app) : command_names(app));
        const std::string hint = close.empty() ? "see --help" : fmt::format("did you mean {}?", close);
        throw InputError(name, "", fmt::format("no such {}; {}", flag ? "flag" : "command or argument", hint));
    }
    for (const CLI::App* command : app.get_subcommands()) refuse_extras(*command);
}

namespace {

JobRequest file_of(const JobFlags& flags) {
    return flags.job_file ? load_job_request(*flags.job_file) : JobRequest{};
}

}  // namespace

JobRequest requested(const JobFlags& flags) {
    return translated(flags.megatron, file_of(flags), flags.request);
}

JobRequest request_from(const JobFlags& flags) {
    return merge(file_of(flags), requested(flags));
}

Job job_from(const JobFlags& flags) {
    return resolve(with_schedule_counts(request_from(flags)));
}

}  // namespace foreshard::cli
