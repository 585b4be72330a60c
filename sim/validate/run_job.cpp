#include "sim/validate/run_job.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/error.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/layout.hpp"
#include "sim/spec/resolve_options.hpp"
#include "sim/spec/schedule_kinds.hpp"

namespace foreshard {

namespace {

/// Used where a source does not print its vocabulary: the size that fits the only published runs without one
/// (zero-bubble, arXiv 2401.10241), and that of the SentencePiece vocabularies of its time.
constexpr std::int64_t assumed_vocab = 32000;

ModelSpec model_of(const PublishedRun& run, std::vector<std::string>& assumptions) {
    ModelSpec model;
    model.id = run.id;
    model.name = run.id;
    model.num_layers = run.layers;
    model.hidden = run.hidden;
    model.heads = run.heads;
    model.kv_heads = run.kv_heads.value_or(run.heads);
    model.head_dim = run.heads > 0 ? run.hidden / run.heads : 0;
    model.ffn_hidden = run.ffn_hidden.value_or(4 * run.hidden);
    model.seq_length = run.seq_length;
    model.vocab_size = run.vocab.value_or(assumed_vocab);
    model.gated_mlp = run.gated_mlp;
    model.tied_embeddings = run.tied_embeddings.value_or(!run.gated_mlp);
    model.norm = run.gated_mlp ? NormKind::rms_norm : NormKind::layer_norm;
    model.positions = run.gated_mlp ? PositionKind::rotary : PositionKind::learned;
    if (run.attention == "alibi") model.positions = PositionKind::alibi;
    model.max_positions = run.seq_length;
    model.mask = run.attention == "bidirectional" ? AttentionMask::bidirectional : AttentionMask::causal;
    model.linear_bias = !run.gated_mlp;
    model.qkv_bias = !run.gated_mlp;
    if (!run.vocab) assumptions.push_back(fmt::format("vocabulary not published: {}", assumed_vocab));
    if (!run.ffn_hidden) assumptions.emplace_back("MLP width not published: 4 x hidden");
    return model;
}

/// The catalogue's cluster that has this device: the maker's own system where there is one, with measured collectives.
std::map<std::string, std::string> clusters_by_gpu() {
    std::map<std::string, std::string> best;
    std::map<std::string, int> best_score;
    for (const CatalogueEntry& entry : catalogue("clusters")) {
        const std::string id(entry.id);
        const ClusterSpec cluster = load_cluster(id);
        if (!cluster.inter_node) continue;
        const bool own = id.rfind("dgx", 0) == 0 || id.rfind("gb", 0) == 0 || id.find("-hgx") != std::string::npos;
        const int score = 1 + (own ? 2 : 0) + (cluster.fits.empty() ? 0 : 1);
        int& highest = best_score[cluster.device.id];
        if (score > highest) best[cluster.device.id] = id;
        highest = std::max(highest, score);
    }
    return best;
}

/// Empty when there is none.
std::string cluster_for(const std::string& gpu) {
    static const std::map<std::string, std::string> clusters = clusters_by_gpu();
    const auto found = clusters.find(gpu);
    return found != clusters.end() ? found->second : "";
}

ClusterSpec machine_of(const PublishedRun& run, const std::string& id, std::vector<std::string>& assumptions) {
    ClusterSpec cluster = load_cluster(id);
    cluster.nodes.reset();
    if (run.gpus_per_node && *run.gpus_per_node != cluster.gpus_per_node) {
        const bool whole_domain = cluster.gpus_per_nvlink_domain > cluster.gpus_per_node;
        cluster.gpus_per_node = *run.gpus_per_node;
        if (!whole_domain) cluster.gpus_per_nvlink_domain = *run.gpus_per_node;
    }
    if (run.inter_node_gbit_per_gpu && *run.inter_node_gbit_per_gpu > 0.0) {
        cluster.inter_node->bandwidth = BytesPerSecond(*run.inter_node_gbit_per_gpu * 1e9 / 8.0);
    } else if (run.gpus > cluster.gpus_per_node) {
        assumptions.push_back("network between nodes not published: that of " + id);
    }
    return cluster;
}

/// Largest number of chunks up to 4 that divides a rank's layers and the plan's rules allow.
int assumed_chunks(const PublishedRun& run) {
    for (int chunks = 4; chunks > 1; --chunks) {
        if (run.layers % (run.pp * chunks) == 0) return chunks;
    }
    return 2;
}

/// Where no layout is published: equal stages; else one layer fewer on the ends, if that divides; else as even as
/// possible.
std::string assumed_layout(const PublishedRun& run, std::vector<std::string>& assumptions) {
    std::vector<int> counts(static_cast<std::size_t>(run.pp), run.layers / run.pp);
    if (run.layers % run.pp == 0) return "";
    if ((run.layers + 2) % run.pp == 0) {
        std::fill(counts.begin(), counts.end(), (run.layers + 2) / run.pp);
        --counts.front();
        --counts.back();
    } else {
        for (int i = 0; i < run.layers % run.pp; ++i) ++counts[static_cast<std::size_t>(i)];
    }
    assumptions.push_back(fmt::format("layers per stage not published: {}", fmt::join(counts, ",")));
    return fmt::format("{}", fmt::join(counts, ","));
}

std::string unsupported(const PublishedRun& run) {
    if (run.mixture_of_experts) return "mixture-of-experts rows are not validated yet";
    if (run.attention == "mla") return "multi-head latent attention is not simulated yet";
    if (!run.whole_step) return "the time is not that of a whole step";
    if (!run.micro_batch || !run.global_batch) return "micro-batch or global batch is not published";
    if (run.gpu.empty() || cluster_for(run.gpu).empty()) return "no cluster in the catalogue has gpu " + run.gpu;
    if (!parse_precision(run.precision)) return "unknown precision " + run.precision;
    try {
        parse_schedule(run.schedule);
        if (!run.recompute.empty()) parse_recompute(run.recompute);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

/// Profiles that succeed another one.
std::vector<SoftwareProfile> successors() {
    std::vector<SoftwareProfile> found;
    for (const CatalogueEntry& entry : catalogue("software")) {
        SoftwareProfile profile = load_software(std::string(entry.id));
        if (profile.succeeds) found.push_back(std::move(profile));
    }
    return found;
}

/// What a framework was at the date of the run. Dates are ordered as text is: year, month, day.
const SoftwareProfile* successor_of(const PublishedRun& run) {
    static const std::vector<SoftwareProfile> all = successors();
    const SoftwareProfile* newest = nullptr;
    for (const SoftwareProfile& profile : all) {
        if (profile.succeeds->profile != run.software || run.date < profile.succeeds->since) continue;
        if (newest == nullptr || newest->succeeds->since < profile.succeeds->since) newest = &profile;
    }
    return newest;
}

SoftwareProfile profile_of(const PublishedRun& run, std::vector<std::string>& assumptions) {
    if (const SoftwareProfile* profile = successor_of(run)) {
        assumptions.push_back(fmt::format("software {} of {}: {}", run.software, run.date, profile->id));
        return *profile;
    }
    for (const CatalogueEntry& entry : catalogue("software")) {
        if (entry.id == run.software) return load_software(run.software);
    }
    assumptions.push_back(fmt::format("unknown software '{}': generic", run.software));
    return load_software("generic");
}

/// A shard size is given for FSDP only; FSDP1 is that of 2023. Without one, stages 2 and 3 are DeepSpeed's.
void set_sharding(const PublishedRun& run, JobRequest& request) {
    request.zero = *run.zero_stage;
    if (!run.fully_sharded) {
        request.overlap_grad_reduce = true;
        return;
    }
    request.data_parallel = run.software == "torch-fsdp-2023" ? "fsdp1" : "fsdp2";
    const int replicas = run.dp * run.cp;
    if (run.shard_size < replicas) request.fsdp_shard_size = run.shard_size;
}

void set_data_parallel(const PublishedRun& run, const SoftwareProfile& profile, JobRequest& request,
                       std::vector<std::string>& assumptions) {
    if (run.zero_stage.value_or(0) >= 2 && run.dp > 1) {
        set_sharding(run, request);
        return;
    }
    bool sharded = run.distributed_optimizer || run.zero_stage.value_or(0) == 1;
    // DeepSpeed is run for its sharding: where no stage is published, 1 is the one that every pipeline allows.
    if (!run.zero_stage && !sharded && profile.structure.gradient_partition_bytes > 0) {
        sharded = true;
        assumptions.emplace_back("ZeRO stage not published: 1");
    }
    request.use_distributed_optimizer = sharded && run.dp > 1;
    // Whether gradients are reduced under backward is a habit of the framework; no row says it in a number.
    const bool overlaps = profile.numbers.dp_overlap_ratio > 0.5;
    request.overlap_grad_reduce = overlaps;
    request.overlap_param_gather = overlaps && sharded && run.dp > 1;
}

void set_pipeline(const PublishedRun& run, JobRequest& request, std::vector<std::string>& assumptions) {
    request.schedule = run.pp == 1 ? "none" : run.schedule;
    if (run.pp > 1 && run.schedule == "none") request.schedule = "1f1b";
    const ScheduleTraits& traits = traits_of(parse_schedule(*request.schedule));
    request.vpp = traits.chunks;
    if (traits.split_backward) {
        // arXiv 2401.10241 section 4: the optimizer step is validated afterwards, no rank waits for the others.
        request.skew_steps = 3;
        assumptions.emplace_back("ranks start a step as soon as they have ended the one before");
    }
    if (run.pp > 1 && run.schedule == "interleaved-1f1b") {
        request.vpp = run.virtual_stages.value_or(assumed_chunks(run));
        if (!run.virtual_stages) assumptions.push_back(fmt::format("chunks not published: {}", *request.vpp));
        if (*request.vpp == 1) request.schedule = "1f1b";
        // The run did happen, so its messages were kept apart somehow.
        if (run.pp == 2) request.overlap_p2p = true;
    }
    if (run.pp == 1) return;
    if (run.layers_per_stage.empty()) {
        const std::string layout = assumed_layout(run, assumptions);
        if (!layout.empty()) request.layout = layout;
    } else if (static_cast<int>(run.layers_per_stage.size()) == run.pp) {
        request.layout = fmt::format("{}", fmt::join(run.layers_per_stage, ","));
    }
}

}  // namespace

RunRequest request_of(const PublishedRun& run) {
    RunRequest result;
    result.skipped = unsupported(run);
    if (!result.skipped.empty()) return result;
    JobRequest& request = result.request;
    const SoftwareProfile profile = profile_of(run, result.assumptions);
    request.model = LoadedModel{model_of(run, result.assumptions), {}};
    request.cluster = machine_of(run, cluster_for(run.gpu), result.assumptions);
    request.software = profile;
    request.gpus = run.gpus;
    request.dp = run.dp;
    request.tp = run.tp;
    request.pp = run.pp;
    request.cp = run.cp;
    request.sp = run.sequence_parallel && run.tp > 1;
    request.mbs = *run.micro_batch;
    request.gbs = *run.global_batch;
    request.seq_length = run.seq_length;
    request.precision = run.precision;
    if (!run.recompute.empty()) request.recompute = run.recompute;
    set_pipeline(run, request, result.assumptions);
    set_data_parallel(run, profile, request, result.assumptions);
    return result;
}

}  // namespace foreshard
