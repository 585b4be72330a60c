#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "sim/spec/job_request.hpp"

/// Arguments of Megatron-LM (megatron/training/arguments.py, 2025) that are no job flags of their own, so that its
/// command lines can be given as they are. Some say in other units what a job flag says, others describe the model or
/// the kernels, which come from elsewhere here: those must agree.
namespace foreshard::cli {

struct MegatronFlags {
    bool use_torch_fsdp2 = false;
    bool no_reshard_after_forward = false;
    bool use_tp_pp_dp_mapping = false;
    std::optional<int> optimizer_instances;
    std::optional<std::int64_t> ddp_bucket_size;  ///< elements
    std::optional<std::string> fp8_format;
    std::optional<std::string> fp8_recipe;
    std::optional<std::string> fp4_format;

    std::optional<std::string> position_embedding_type;
    std::optional<std::string> normalization;
    std::optional<std::string> attention_backend;
    bool use_flash_attn = false;
    bool group_query_attention = false;
    bool disable_bias_linear = false;
    bool add_qkv_bias = false;
    std::optional<std::int64_t> shared_expert_size;
    std::optional<std::string> moe_layer_freq;

    bool any() const;
};

/// Declares them; parsing fills `flags`, which must outlive the command.
void add_megatron_flags(CLI::App& command, MegatronFlags& flags);

/// `request`, over what `file` says, with what the flags say in its own terms.
/// @throws InputError where a flag contradicts the model, the software or another flag
JobRequest translated(const MegatronFlags& flags, const JobRequest& file, JobRequest request);

}  // namespace foreshard::cli
