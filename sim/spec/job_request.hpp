#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/spec/job.hpp"

/// A job as it was asked for, before defaults.
namespace foreshard {

/// A model with remarks on how it was read, for the report.
struct LoadedModel {
    ModelSpec spec;
    std::vector<std::string> notes;
};

/// A catalogue id or file name, or the thing itself.
template <class Spec>
using NameOr = std::variant<std::string, Spec>;

/// What a schedule file holds; counted by the caller (the format belongs to plan/) for defaults of pp, vpp and gbs.
struct ScheduleCounts {
    int ranks = 0;
    int stages = 0;
    int microbatches = 0;
};

/// Everything that flags and job files can say; empty means "not said". Members are named like their flags.
struct JobRequest {
    std::optional<NameOr<LoadedModel>> model;
    std::optional<NameOr<ClusterSpec>> cluster;
    std::optional<NameOr<SoftwareProfile>> software;
    std::optional<NameOr<StageTimes>> stage_times;
    std::optional<NameOr<ScheduleFile>> schedule_file;
    std::optional<ScheduleCounts> schedule_counts;
    std::optional<NameOr<SharedCalibration>> calibration;

    std::optional<int> gpus;
    std::optional<int> dp;
    std::optional<int> tp;
    std::optional<int> pp;
    std::optional<int> vpp;
    std::optional<int> cp;
    std::optional<int> ep;
    std::optional<int> etp;
    std::optional<std::int64_t> mbs;
    std::optional<std::int64_t> gbs;
    std::optional<std::int64_t> seq_length;

    std::optional<bool> sp;
    std::optional<std::string> schedule;
    std::optional<std::string> placement;
    std::optional<int> microbatch_group_size;
    std::optional<int> num_layers_per_virtual_pipeline_stage;
    std::optional<std::string> layout;
    std::optional<bool> balance;
    std::optional<int> decoder_first_pipeline_num_layers;
    std::optional<int> decoder_last_pipeline_num_layers;
    std::optional<bool> account_for_embedding_in_pipeline_split;
    std::optional<bool> account_for_loss_in_pipeline_split;
    std::optional<bool> overlap_p2p;
    std::optional<std::string> data_parallel;
    std::optional<double> bucket_mb;
    std::optional<double> first_bucket_mb;
    std::optional<bool> reshard_after_forward;
    std::optional<int> fsdp_shard_size;
    std::optional<int> zero_shard_size;
    std::optional<int> prefetch_layers;
    std::optional<bool> sync_every_microbatch;
    std::optional<double> fusion_threshold_mb;
    std::optional<double> cycle_time_ms;
    std::optional<int> local_steps;
    std::optional<int> local_group_size;
    std::optional<int> softsync;
    std::optional<int> parameter_servers;
    std::optional<bool> offload_optimizer;
    std::optional<bool> offload_parameters;
    std::optional<int> offload_activation_layers;
    std::optional<bool> overlap_grad_reduce;
    std::optional<bool> overlap_param_gather;
    std::optional<int> skew_steps;
    std::optional<std::string> recompute;
    std::optional<std::string> recompute_method;
    std::optional<int> recompute_num_layers;
    std::optional<int> zero;
    std::optional<bool> use_distributed_optimizer;
    std::optional<std::string> precision;
    std::optional<std::string> order;
    std::optional<std::string> contention;
    std::optional<std::string> speed_factor;
    std::optional<double> jitter_pct;
    std::optional<std::string> link_factor;
    std::optional<std::int64_t> seed;
    std::optional<int> runs;
    std::optional<bool> no_symmetry;
    std::optional<std::string> mesh;
    std::optional<bool> tp_comm_overlap;

    /// Changes to the model's shape.
    std::optional<int> num_layers;
    std::optional<std::int64_t> hidden_size;
    std::optional<std::int64_t> ffn_hidden_size;
    std::optional<int> num_attention_heads;
    std::optional<int> num_query_groups;
    std::optional<std::int64_t> kv_channels;
    std::optional<std::int64_t> vocab_size;
    std::optional<int> make_vocab_size_divisible_by;
    std::optional<std::int64_t> max_position_embeddings;
    std::optional<int> num_experts;
    std::optional<int> moe_router_topk;
    std::optional<std::int64_t> moe_ffn_hidden_size;
    std::optional<int> mtp_num_layers;
    std::optional<bool> untie_embeddings_and_output_weights;
    std::optional<bool> swiglu;
};

/// What `flags` says wins over what `file` says.
JobRequest merge(const JobRequest& file, const JobRequest& flags);

/// Applies the defaults and names every one of them in Job::assumptions. Rules about the plan are left to check(job).
/// @throws InputError for an unknown id, name or malformed value, and for an option that is not simulated
Job resolve(const JobRequest& request);

}  // namespace foreshard
