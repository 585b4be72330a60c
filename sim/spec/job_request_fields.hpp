#pragma once

#include "sim/spec/job_request.hpp"

/// The plain members of a JobRequest with their names, so that files, merging and flags cannot disagree on the list.
namespace foreshard {

/// Calls visit(name, member pointer) for the keys of "plan" in a job file.
template <class Visit>
void visit_plan_fields(Visit&& visit) {
    using R = JobRequest;
    visit("dp", &R::dp);
    visit("tp", &R::tp);
    visit("pp", &R::pp);
    visit("vpp", &R::vpp);
    visit("cp", &R::cp);
    visit("ep", &R::ep);
    visit("etp", &R::etp);
    visit("sp", &R::sp);
    visit("schedule", &R::schedule);
    visit("placement", &R::placement);
    visit("microbatch_group_size", &R::microbatch_group_size);
    visit("num_layers_per_virtual_pipeline_stage", &R::num_layers_per_virtual_pipeline_stage);
    visit("layout", &R::layout);
    visit("balance", &R::balance);
    visit("decoder_first_pipeline_num_layers", &R::decoder_first_pipeline_num_layers);
    visit("decoder_last_pipeline_num_layers", &R::decoder_last_pipeline_num_layers);
    visit("account_for_embedding_in_pipeline_split", &R::account_for_embedding_in_pipeline_split);
    visit("account_for_loss_in_pipeline_split", &R::account_for_loss_in_pipeline_split);
    visit("overlap_p2p", &R::overlap_p2p);
    visit("data_parallel", &R::data_parallel);
    visit("bucket_mb", &R::bucket_mb);
    visit("first_bucket_mb", &R::first_bucket_mb);
    visit("reshard_after_forward", &R::reshard_after_forward);
    visit("fsdp_shard_size", &R::fsdp_shard_size);
    visit("zero_shard_size", &R::zero_shard_size);
    visit("prefetch_layers", &R::prefetch_layers);
    visit("sync_every_microbatch", &R::sync_every_microbatch);
    visit("fusion_threshold_mb", &R::fusion_threshold_mb);
    visit("cycle_time_ms", &R::cycle_time_ms);
    visit("local_steps", &R::local_steps);
    visit("local_group_size", &R::local_group_size);
    visit("softsync", &R::softsync);
    visit("parameter_servers", &R::parameter_servers);
    visit("offload_optimizer", &R::offload_optimizer);
    visit("offload_parameters", &R::offload_parameters);
    visit("offload_activation_layers", &R::offload_activation_layers);
    visit("overlap_grad_reduce", &R::overlap_grad_reduce);
    visit("overlap_param_gather", &R::overlap_param_gather);
    visit("skew_steps", &R::skew_steps);
    visit("recompute", &R::recompute);
    visit("recompute_method", &R::recompute_method);
    visit("recompute_num_layers", &R::recompute_num_layers);
    visit("zero", &R::zero);
    visit("use_distributed_optimizer", &R::use_distributed_optimizer);
    visit("precision", &R::precision);
    visit("order", &R::order);
    visit("contention", &R::contention);
    visit("speed_factor", &R::speed_factor);
    visit("jitter_pct", &R::jitter_pct);
    visit("link_factor", &R::link_factor);
    visit("seed", &R::seed);
    visit("runs", &R::runs);
    visit("no_symmetry", &R::no_symmetry);
    visit("mesh", &R::mesh);
    visit("tp_comm_overlap", &R::tp_comm_overlap);
}

/// The keys of "batch".
template <class Visit>
void visit_batch_fields(Visit&& visit) {
    visit("global_batch_size", &JobRequest::gbs);
    visit("micro_batch_size", &JobRequest::mbs);
    visit("seq_length", &JobRequest::seq_length);
}

/// The keys of "model_changes": overrides of the model's shape.
template <class Visit>
void visit_model_fields(Visit&& visit) {
    using R = JobRequest;
    visit("num_layers", &R::num_layers);
    visit("hidden_size", &R::hidden_size);
    visit("ffn_hidden_size", &R::ffn_hidden_size);
    visit("num_attention_heads", &R::num_attention_heads);
    visit("num_query_groups", &R::num_query_groups);
    visit("kv_channels", &R::kv_channels);
    visit("vocab_size", &R::vocab_size);
    visit("make_vocab_size_divisible_by", &R::make_vocab_size_divisible_by);
    visit("max_position_embeddings", &R::max_position_embeddings);
    visit("num_experts", &R::num_experts);
    visit("moe_router_topk", &R::moe_router_topk);
    visit("moe_ffn_hidden_size", &R::moe_ffn_hidden_size);
    visit("mtp_num_layers", &R::mtp_num_layers);
    visit("untie_embeddings_and_output_weights", &R::untie_embeddings_and_output_weights);
    visit("swiglu", &R::swiglu);
}

}  // namespace foreshard
