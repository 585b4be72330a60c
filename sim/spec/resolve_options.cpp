#include "sim/spec/resolve_options.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/error.hpp"
#include "sim/spec/schedule_kinds.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard {

namespace {

using Strings = std::vector<std::string>;

template <class T>
using Names = std::vector<std::pair<std::string_view, T>>;

[[noreturn]] void refuse_name(const std::string& flag, const std::string& text, const Strings& valid,
                              const Strings& later = {}) {
    const std::string list = fmt::format("{}", fmt::join(valid, ", "));
    if (std::find(later.begin(), later.end(), text) != later.end()) {
        throw InputError(flag, "", fmt::format("'{}' is not simulated by this version; valid: {}", text, list));
    }
    const std::string close = did_you_mean(text, valid);
    throw InputError(flag, "",
                     fmt::format("'{}' is not known{}; valid: {}", text,
                                 close.empty() ? "" : fmt::format(" (did you mean {}?)", close), list));
}

template <class T>
T parse_name(const std::string& flag, const std::string& text, const Names<T>& names, const Strings& later = {}) {
    Strings valid;
    for (const auto& [name, value] : names) {
        if (name == text) return value;
        valid.emplace_back(name);
    }
    refuse_name(flag, text, valid, later);
}

/// Width of the MLP where only the model's width was given: 4 h, or 8/3 h in multiples of 64 for three matrices.
std::int64_t default_ffn(const ModelSpec& model) {
    return model.gated_mlp ? 4 * model.hidden * 2 / 3 / 64 * 64 : 4 * model.hidden;
}

void follow_width(const JobRequest& request, LoadedModel& model) {
    ModelSpec& spec = model.spec;
    const bool width = request.hidden_size.has_value();
    if (!request.ffn_hidden_size && (width || request.swiglu)) {
        spec.ffn_hidden = default_ffn(spec);
        model.notes.push_back(fmt::format("ffn_hidden_size not given: {}", spec.ffn_hidden));
    }
    if (!request.kv_channels && (width || request.num_attention_heads)) {
        if (spec.heads < 1 || spec.hidden % spec.heads != 0) {
            throw InputError(
                "--kv-channels", "",
                fmt::format("needed, because {} heads do not divide the hidden size {}", spec.heads, spec.hidden));
        }
        spec.head_dim = spec.hidden / spec.heads;
        model.notes.push_back(fmt::format("kv_channels not given: {}", spec.head_dim));
    }
}

void change_heads(const JobRequest& request, LoadedModel& model) {
    ModelSpec& spec = model.spec;
    const bool one_kv_head_each = spec.kv_heads == spec.heads;
    spec.heads = request.num_attention_heads.value_or(spec.heads);
    if (request.num_query_groups) {
        spec.kv_heads = *request.num_query_groups;
    } else if (request.num_attention_heads && one_kv_head_each) {
        spec.kv_heads = spec.heads;
    }
}

void change_experts(const JobRequest& request, LoadedModel& model) {
    ModelSpec& spec = model.spec;
    if (request.num_experts && *request.num_experts == 0) spec.moe.reset();
    if (request.num_experts && *request.num_experts > 0 && !spec.moe) {
        spec.moe = MoeSpec{.topk = 2, .ffn_hidden = spec.ffn_hidden};
        if (!request.moe_router_topk) model.notes.emplace_back("moe_router_topk not given: 2");
        if (!request.moe_ffn_hidden_size) {
            model.notes.push_back(fmt::format("moe_ffn_hidden_size not given: {}", spec.ffn_hidden));
        }
    }
    if (!spec.moe) {
        if (request.moe_router_topk || request.moe_ffn_hidden_size) {
            throw InputError("--num-experts", "", "needed for --moe-router-topk and --moe-ffn-hidden-size");
        }
        return;
    }
    spec.moe->num_experts = request.num_experts.value_or(spec.moe->num_experts);
    spec.moe->topk = request.moe_router_topk.value_or(spec.moe->topk);
    spec.moe->ffn_hidden = request.moe_ffn_hidden_size.value_or(spec.moe->ffn_hidden);
}

struct Bound {
    const char* name;
    std::int64_t value;
    std::int64_t most;
};

}  // namespace

ScheduleKind parse_schedule(const std::string& text) {
    if (const auto known = find_schedule(text)) return *known;
    Strings valid;
    for (const ScheduleTraits& traits : schedule_kinds()) valid.emplace_back(traits.id);
    refuse_name("--schedule", text, valid, {});
}

Placement parse_placement(const std::string& text) {
    Names<Placement> names;
    for (const Placement placement :
         {Placement::linear, Placement::loop, Placement::v, Placement::snake, Placement::bidirectional}) {
        names.emplace_back(to_string(placement), placement);
    }
    return parse_name("--placement", text, names);
}

Recompute parse_recompute(const std::string& text) {
    static const Names<Recompute> names = {
        {"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}};
    return parse_name("--recompute", text, names);
}

RecomputeMethod parse_recompute_method(const std::string& text) {
    static const Names<RecomputeMethod> names = {{"uniform", RecomputeMethod::uniform},
                                                 {"block", RecomputeMethod::block}};
    return parse_name("--recompute-method", text, names);
}

Precision parse_precision_option(const std::string& text) {
    Names<Precision> names;
    for (int i = 0; i < precision_count; ++i) {
        names.emplace_back(to_string(static_cast<Precision>(i)), static_cast<Precision>(i));
    }
    return parse_name("--precision", text, names);
}

DataParallelKind parse_data_parallel(const std::string& text) {
    Names<DataParallelKind> names;
    for (int i = 0; i < data_parallel_kind_count; ++i) {
        names.emplace_back(to_string(static_cast<DataParallelKind>(i)), static_cast<DataParallelKind>(i));
    }
    return parse_name("--data-parallel", text == "fsdp" ? "fsdp2" : text, names);
}

void apply_model_changes(const JobRequest& request, LoadedModel& model) {
    ModelSpec& spec = model.spec;
    spec.num_layers = request.num_layers.value_or(spec.num_layers);
    spec.hidden = request.hidden_size.value_or(spec.hidden);
    spec.gated_mlp = request.swiglu.value_or(spec.gated_mlp);
    spec.ffn_hidden = request.ffn_hidden_size.value_or(spec.ffn_hidden);
    spec.head_dim = request.kv_channels.value_or(spec.head_dim);
    spec.vocab_size = request.vocab_size.value_or(spec.vocab_size);
    spec.vocab_divisor = request.make_vocab_size_divisible_by.value_or(spec.vocab_divisor);
    spec.max_positions = request.max_position_embeddings.value_or(spec.max_positions);
    spec.mtp_layers = request.mtp_num_layers.value_or(spec.mtp_layers);
    if (request.untie_embeddings_and_output_weights) {
        spec.tied_embeddings = !*request.untie_embeddings_and_output_weights;
    }
    change_heads(request, model);
    follow_width(request, model);
    change_experts(request, model);
}

void refuse_out_of_range(const Job& job) {
    constexpr std::int64_t million = 1'000'000;
    const ParallelPlan& plan = job.plan;
    const ModelSpec& model = job.model;
    const std::vector<Bound> bounds = {
        {"--gpus", job.gpus, million},
        {"--dp", plan.dp, million},
        {"--tp", plan.tp, million},
        {"--pp", plan.pp, 65'536},
        {"--vpp", plan.vpp, 65'536},
        {"--cp", plan.cp, million},
        {"--ep", plan.ep, million},
        {"--etp", plan.etp, million},
        {"--mbs", job.micro_batch, million},
        {"--gbs", job.global_batch, 1000 * million},
        {"--seq-length", job.seq_length, 1000 * million},
        {"--num-layers", model.num_layers, 65'536},
        {"--hidden-size", model.hidden, million},
        {"--ffn-hidden-size", model.ffn_hidden, 10 * million},
        {"--num-attention-heads", model.heads, million},
        {"--num-query-groups", model.kv_heads, million},
        {"--kv-channels", model.head_dim, million},
        {"--vocab-size", model.vocab_size, 1000 * million},
        {"--make-vocab-size-divisible-by", model.vocab_divisor, million},
        {"--max-position-embeddings", model.max_positions, 1000 * million},
        {"--num-experts", model.moe ? model.moe->num_experts : 0, million},
        {"--decoder-first-pipeline-num-layers", plan.first_stage_layers.value_or(0), 65'536},
        {"--decoder-last-pipeline-num-layers", plan.last_stage_layers.value_or(0), 65'536},
        {"--microbatch-group-size", plan.microbatch_group_size, million},
        {"--skew-steps", plan.skew_steps, 64},
        {"--mtp-num-layers", model.mtp_layers, 65'536},
        {"--fsdp-shard-size", plan.fsdp_shard_size, million},
        {"--zero-shard-size", plan.zero_shard_size, million},
        {"--prefetch-layers", plan.prefetch_layers, 65'536},
        {"--local-steps", plan.local_steps, million},
        {"--local-group-size", plan.local_group_size, million},
        {"--softsync", plan.softsync, million},
        {"--parameter-servers", plan.parameter_servers, million},
        {"--moe-ffn-hidden-size", model.moe ? model.moe->ffn_hidden : 0, 10 * million},
        {"pp x vpp", std::int64_t{1} * plan.pp * plan.vpp, 65'536}};
    for (const Bound& bound : bounds) {
        if (bound.value <= bound.most && bound.value >= -bound.most) continue;
        throw InputError(bound.name, "", fmt::format("{} is out of range; at most {}", bound.value, bound.most));
    }
    const std::pair<const char*, double> sizes[] = {{"--bucket-mb", plan.bucket_mb},
                                                    {"--first-bucket-mb", plan.first_bucket_mb},
                                                    {"--fusion-threshold-mb", plan.fusion_threshold_mb},
                                                    {"--cycle-time-ms", plan.cycle_time_ms}};
    for (const auto& [flag, value] : sizes) {
        if (std::isfinite(value) && value >= 0.0 && value <= 1e9) continue;
        throw InputError(flag, "", fmt::format("{} must be 0 to 1e9", value));
    }
}

}  // namespace foreshard
