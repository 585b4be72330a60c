#include "sim/plan/parameters.hpp"

#include <algorithm>

#include "sim/spec/schedule_kinds.hpp"

namespace foreshard {

namespace {

std::int64_t norm_size(const ModelSpec& model) {
    return model.norm == NormKind::layer_norm ? 2 * model.hidden : model.hidden;
}

/// KV heads of the rank: copies when tp exceeds their number.
std::int64_t kv_width_of_rank(const Job& job) {
    return std::max(job.model.kv_heads / job.plan.tp, 1) * job.model.head_dim;
}

/// Weights of an MLP of total width ffn over `shards`; the second bias is whole on every shard.
std::int64_t mlp(const ModelSpec& model, std::int64_t ffn, int shards) {
    const std::int64_t width = ffn / shards;
    const std::int64_t inner = model.gated_mlp ? 2 * width : width;
    return model.hidden * inner + width * model.hidden + (model.linear_bias ? inner + model.hidden : 0);
}

std::int64_t attention(const Job& job) {
    const ModelSpec& model = job.model;
    const std::int64_t query = model.query_width() / job.plan.tp;
    const std::int64_t qkv = query + 2 * kv_width_of_rank(job);
    return model.hidden * qkv + (model.qkv_bias ? qkv : 0) + query * model.hidden +
           (model.linear_bias ? model.hidden : 0);
}

}  // namespace

RankParameters rank_layer_parameters(const Job& job, bool moe) {
    const ModelSpec& model = job.model;
    RankParameters counts;
    counts.dense = attention(job) + 2 * norm_size(model);
    if (!moe) {
        counts.dense += mlp(model, model.ffn_hidden, job.plan.tp);
        return counts;
    }
    const int etp = expert_tp(job.plan);
    counts.dense += model.hidden * model.moe->num_experts;
    if (model.moe->shared_ffn_hidden > 0) counts.dense += mlp(model, model.moe->shared_ffn_hidden, job.plan.tp);
    counts.expert = model.moe->num_experts / job.plan.ep * mlp(model, model.moe->ffn_hidden, etp);
    return counts;
}

std::int64_t vocabulary_rows(const Job& job) {
    return padded_vocab(job) / (std::int64_t{1} * job.plan.tp * vocabulary_shares(job.plan));
}

std::int64_t rank_embedding_parameters(const Job& job) {
    const ModelSpec& model = job.model;
    std::int64_t count = vocabulary_shares(job.plan) > 1 ? 0 : vocabulary_rows(job) * model.hidden;
    if (model.positions == PositionKind::learned) count += model.max_positions * model.hidden;
    if (model.embedding_norm) count += norm_size(model);
    return count + model.token_types * model.hidden;
}

std::int64_t rank_head_parameters(const Job& job) {
    const ModelSpec& model = job.model;
    if (vocabulary_shares(job.plan) > 1) return norm_size(model);
    const std::int64_t matrix = vocabulary_rows(job) * model.hidden;
    std::int64_t count = model.tied_embeddings && ends_share_rank(job) ? 0 : matrix;
    if (model.token_types == 0) return count + norm_size(model);
    const std::int64_t dense = model.hidden * model.hidden + model.hidden;
    return count + 2 * dense + 2 * model.hidden + vocabulary_rows(job);
}

std::int64_t rank_share_parameters(const Job& job) {
    const std::int64_t matrix = vocabulary_rows(job) * job.model.hidden;
    return job.model.tied_embeddings ? matrix : 2 * matrix;
}

bool ends_share_rank(const Job& job) {
    const ParallelPlan& plan = job.plan;
    switch (placement_of(plan)) {
        case Placement::linear:
        case Placement::loop:
            return plan.pp == 1;
        case Placement::v:
        case Placement::snake:
            return plan.pp == 1 || plan.vpp % 2 == 0;
        case Placement::bidirectional:
            return true;
    }
    return false;
}

bool ties_embedding_across_ranks(const Job& job) {
    // Ranks of an asynchronous pipeline update on their own; the two matrices drift apart.
    return job.model.tied_embeddings && !ends_share_rank(job) && vocabulary_shares(job.plan) == 1 &&
           !traits_of(job.plan.schedule).asynchronous;
}

}  // namespace foreshard
