#include "gui/editor/plan_fields.hpp"

#include <algorithm>
#include <functional>

#include "sim/search/objective.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/schedule_kinds.hpp"

namespace foreshard::gui {

namespace {

FieldGroup inputs() {
    using enum FieldKind;
    return {"Model and machine",
            true,
            {{"model", "Model", open_choice, "Model of the catalogue, model file or Hugging Face config.json"},
             {"cluster", "Cluster", open_choice, "Cluster of the catalogue or file"},
             {"gpus", "GPUs", degree, "GPUs in all; by default dp x tp x pp x cp"},
             {"software", "Software", open_choice, "Framework profile"},
             {"precision", "Precision", choice, "Of the matrix products"},
             {"seq_length", "Sequence", degree, "Tokens of a sequence"}}};
}

FieldGroup parallelism() {
    using enum FieldKind;
    return {"Parallelism",
            true,
            {{"tp", "Tensor (tp)", degree, "Ranks that share every layer"},
             {"pp", "Pipeline (pp)", degree, "Ranks that hold the layers one after the other"},
             {"vpp", "Chunks (vpp)", count, "Model chunks of a pipeline rank"},
             {"dp", "Data (dp)", degree, "Replicas"},
             {"cp", "Context (cp)", degree, "Ranks that share every sequence"},
             {"ep", "Expert (ep)", degree, "Ranks that share the experts"},
             {"etp", "Expert tensor (etp)", degree, "Tensor-parallel size of experts"},
             {"sp", "Sequence parallel", toggle, "Activations between tensor-parallel regions are shared too"},
             {"tp_comm_overlap", "TP overlap", toggle, "Collectives of tensor parallelism run under their GEMMs"},
             {"order", "Rank order", text, "Axes from inner to outer: tp-cp-ep-dp-pp"},
             {"mesh", "Mesh", text, "Degrees and order at once, outer to inner: pp=2,dp=8,tp=4"}}};
}

FieldGroup batch() {
    using enum FieldKind;
    return {"Batch",
            true,
            {{"gbs", "Global batch", degree, "Sequences of a step over all ranks"},
             {"mbs", "Micro-batch", degree, "Sequences that a rank takes at a time"}}};
}

FieldGroup pipeline() {
    using enum FieldKind;
    return {"Pipeline",
            true,
            {{"schedule", "Schedule", choice, "In which order ranks run their passes"},
             {"placement", "Placement", choice, "Which rank holds which chunk"},
             {"layout", "Layers a stage", text, "'E|(t|)*3,m|m||L' or 7,8,8,7"},
             {"balance", "Balance", toggle, "Find the layers of every stage that minimise the step"},
             {"overlap_p2p", "Overlap messages", toggle, "Pipeline messages run beside compute"},
             {"microbatch_group_size", "Group size", count, "Micro-batches of a chunk's turn"},
             {"skew_steps", "Skew steps", text, "Run as many steps and take the last; ranks may start it apart"},
             {"schedule_file", "Schedule file", text, "CSV: a line per rank, a cell per action"},
             {"stage_times", "Stage times", text, "JSON with times per stage, in place of all computed times"},
             {"num_layers_per_virtual_pipeline_stage", "Layers a chunk", count, "Another way to give the chunks"},
             {"decoder_first_pipeline_num_layers", "Layers of rank 0", count, "Layers of the first rank"},
             {"decoder_last_pipeline_num_layers", "Layers of the last", count, "Layers of the last rank"},
             {"account_for_embedding_in_pipeline_split", "Embedding counts", toggle, "As a layer in the split"},
             {"account_for_loss_in_pipeline_split", "Loss counts", toggle, "As a layer in the split"}}};
}

FieldGroup memory() {
    using enum FieldKind;
    return {"Recompute and offload",
            true,
            {{"recompute", "Recompute", choice, "Which activations are computed again instead of kept"},
             {"recompute_method", "Method", choice, "Which layers, with full"},
             {"recompute_num_layers", "Layers", count, "Layers recomputed at a time, with full"},
             {"offload_activation_layers", "Offloaded layers", text,
              "First layers of every stage whose saved tensors wait on the host"}}};
}

FieldGroup dataParallel() {
    using enum FieldKind;
    return {"Data parallelism",
            true,
            {{"data_parallel", "Scheme", choice, "How replicas agree on gradients"},
             {"zero", "ZeRO stage", choice, "What is shared over replicas: optimizer, gradients, parameters"},
             {"use_distributed_optimizer", "Distributed optimizer", toggle, "Megatron's form of ZeRO 1"},
             {"overlap_grad_reduce", "Overlap reduce", toggle, "Gradients are reduced during backward"},
             {"overlap_param_gather", "Overlap gather", toggle, "Parameters are gathered during forward"},
             {"offload_optimizer", "Offload optimizer", toggle, "Optimizer states and update on the host"},
             {"offload_parameters", "Offload parameters", toggle, "Shards of the parameters on the host"},
             {"reshard_after_forward", "Reshard", toggle, "Parameters are freed after forward"},
             {"bucket_mb", "Bucket, MB", text, "Gradient bucket, 10^6 bytes"},
             {"first_bucket_mb", "First bucket, MB", text, "First gradient bucket, 10^6 bytes"},
             {"prefetch_layers", "Prefetch", count, "Layers gathered ahead"},
             {"fsdp_shard_size", "FSDP shard", degree, "Ranks that hold one copy of the parameters"},
             {"zero_shard_size", "ZeRO shard", degree, "Ranks that hold one copy of the optimizer state"},
             {"sync_every_microbatch", "Sync each", toggle, "Gradients are reduced in every backward"},
             {"fusion_threshold_mb", "Fusion, MB", text, "Horovod's fusion buffer, 10^6 bytes"},
             {"cycle_time_ms", "Cycle, ms", text, "Horovod's cycle"},
             {"local_steps", "Local steps", count, "Local SGD: inner steps between outer ones"},
             {"local_group_size", "Local group", degree, "Local SGD: ranks that agree at every inner step"},
             {"softsync", "Softsync", count, "Async SGD: update after floor(learners / n) gradients"},
             {"parameter_servers", "Servers", count, "Hosts that share the parameters"}}};
}

FieldGroup effects() {
    using enum FieldKind;
    return {"Contention and variability",
            false,
            {{"contention", "Contention", choice, "What concurrent communication shares"},
             {"jitter_pct", "Jitter, %", text, "Standard deviation of every pass's time"},
             {"speed_factor", "Speed factors", text, "3:0.9, 8-15:0.9 or pp1:0.9"},
             {"link_factor", "Link factors", text, "nic3:0.5 or nvlink8-15:0.9"},
             {"seed", "Seed", text, "Of the random numbers"},
             {"runs", "Runs", count, "With different random numbers, for mean and P90"},
             {"no_symmetry", "Expand replicas", toggle, "Every data-parallel replica is simulated by itself"},
             {"calibration", "Calibration", text, "Measured corrections"}}};
}

FieldGroup modelChanges() {
    using enum FieldKind;
    return {"Changes to the model",
            false,
            {{"num_layers", "Layers", count, "Decoder layers"},
             {"hidden_size", "Hidden", count, "Width"},
             {"ffn_hidden_size", "FFN", count, "Width of the MLP"},
             {"num_attention_heads", "Heads", count, "Query heads"},
             {"num_query_groups", "KV heads", count, "Key and value heads"},
             {"kv_channels", "Head width", count, "Width of a head"},
             {"vocab_size", "Vocabulary", count, "Before padding"},
             {"make_vocab_size_divisible_by", "Vocabulary pad", text, "Multiple of this times tp; 0: not at all"},
             {"max_position_embeddings", "Positions", count, "Learned positions"},
             {"num_experts", "Experts", text, "Routed experts a layer; 0: none"},
             {"moe_router_topk", "Experts a token", count, "That a token is routed to"},
             {"moe_ffn_hidden_size", "Expert FFN", count, "Width of an expert"},
             {"mtp_num_layers", "MTP layers", text, "Multi-token-prediction layers"},
             {"untie_embeddings_and_output_weights", "Untied output", toggle, "The output layer has its own weights"},
             {"swiglu", "SwiGLU", toggle, "Gated MLP"}}};
}

std::vector<std::string> ids(std::string_view kind) {
    const std::vector<CatalogueEntry> entries = catalogue(kind);
    std::vector<std::string> names;
    names.reserve(entries.size());
    for (const CatalogueEntry& entry : entries) names.emplace_back(entry.id);
    return names;
}

std::vector<std::string> schedules() {
    std::vector<std::string> names;
    names.reserve(schedule_kinds().size());
    for (const ScheduleTraits& traits : schedule_kinds()) names.emplace_back(traits.id);
    return names;
}

std::vector<std::string> dataParallelKinds() {
    std::vector<std::string> names;
    names.reserve(data_parallel_kind_count);
    for (int i = 0; i < data_parallel_kind_count; ++i) {
        names.emplace_back(to_string(static_cast<DataParallelKind>(i)));
    }
    return names;
}

std::string onOff(bool on) {
    return on ? "on" : "off";
}

std::string placeOfPlan(const ParallelPlan& plan, std::string_view field) {
    if (field == "tp") return std::to_string(plan.tp);
    if (field == "pp") return std::to_string(plan.pp);
    if (field == "vpp") return std::to_string(plan.vpp);
    if (field == "dp") return std::to_string(plan.dp);
    if (field == "cp") return std::to_string(plan.cp);
    if (field == "ep") return std::to_string(plan.ep);
    if (field == "etp") return std::to_string(expert_tp(plan));
    if (field == "sp") return onOff(plan.sequence_parallel);
    if (field == "zero") return std::to_string(plan.zero_stage);
    if (field == "schedule") return std::string(to_string(plan.schedule));
    if (field == "placement") return std::string(to_string(placement_of(plan)));
    if (field == "recompute") return std::string(to_string(plan.recompute));
    if (field == "precision") return std::string(to_string(plan.precision));
    if (field == "data_parallel") return std::string(to_string(plan.data_parallel));
    if (field == "order") return plan.order;
    if (field == "use_distributed_optimizer") return onOff(plan.distributed_optimizer);
    if (field == "overlap_grad_reduce") return onOff(plan.overlap_grad_reduce);
    if (field == "overlap_param_gather") return onOff(plan.overlap_param_gather);
    return "";
}

std::string renamed(std::string_view ruleField) {
    if (ruleField == "global_batch_size") return "gbs";
    if (ruleField == "micro_batch_size") return "mbs";
    return std::string(ruleField);
}

/// All but the first, which is what an empty field means.
std::vector<std::string> objectives() {
    const std::vector<std::string_view> names = objective_names();
    return {names.begin() + 1, names.end()};
}

}  // namespace

const std::vector<FieldGroup>& fieldGroups() {
    static const std::vector<FieldGroup> groups = {inputs(), parallelism(),  batch(),   pipeline(),
                                                   memory(), dataParallel(), effects(), modelChanges()};
    return groups;
}

std::vector<std::string> choices(std::string_view field) {
    if (field == "model") return ids("models");
    if (field == "cluster") return ids("clusters");
    if (field == "software") return ids("software");
    if (field == "precision") return {"fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"};
    if (field == "schedule") return schedules();
    if (field == "placement") return {"linear", "loop", "v", "snake", "bidirectional"};
    if (field == "recompute") return {"none", "selective", "full"};
    if (field == "recompute_method") return {"uniform", "block"};
    if (field == "data_parallel") return dataParallelKinds();
    if (field == "zero") return {"0", "1", "2", "3"};
    if (field == "contention") return {"off", "links", "full"};
    // Of a search, beside their defaults.
    if (field == "space") return {"full"};
    if (field == "objective") return objectives();
    return {};
}

std::string resolvedText(const Job& job, std::string_view field) {
    if (field == "gpus") return std::to_string(job.gpus);
    if (field == "gbs") return std::to_string(job.global_batch);
    if (field == "mbs") return std::to_string(job.micro_batch);
    if (field == "seq_length") return std::to_string(job.seq_length);
    if (field == "model") return job.model.id;
    if (field == "cluster") return job.cluster.id;
    if (field == "software") return job.software.id;
    if (field == "num_layers") return std::to_string(job.model.num_layers);
    if (field == "hidden_size") return std::to_string(job.model.hidden);
    if (field == "num_attention_heads") return std::to_string(job.model.heads);
    return placeOfPlan(job.plan, field);
}

std::vector<FieldMessage> messagesOf(const std::vector<BrokenRule>& broken) {
    std::vector<FieldMessage> messages;
    messages.reserve(broken.size());
    for (const BrokenRule& rule : broken) {
        const std::string first = rule.fields.substr(0, rule.fields.find(','));
        const std::string nearest = rule.nearest.empty() ? "" : ". Nearest: " + rule.nearest;
        messages.push_back({renamed(first), rule.rule + nearest});
    }
    return messages;
}

FieldMessage messageOf(std::string_view flag, const std::string& error) {
    std::string name(flag.substr(flag.starts_with("--") ? 2 : 0));
    std::replace(name.begin(), name.end(), '-', '_');
    name = renamed(name);
    for (const FieldGroup& group : fieldGroups()) {
        for (const PlanField& field : group.fields) {
            if (field.name == name) return {name, error};
        }
    }
    return {"", error};
}

void History::push(JobRequest next) {
    states_.resize(at_ + 1);
    states_.push_back(std::move(next));
    ++at_;
}

void History::undo() {
    if (canUndo()) --at_;
}

void History::redo() {
    if (canRedo()) ++at_;
}

}  // namespace foreshard::gui
