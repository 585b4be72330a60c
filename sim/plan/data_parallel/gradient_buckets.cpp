#include "sim/plan/data_parallel/gradient_buckets.hpp"

#include <algorithm>

#include "sim/plan/parameters.hpp"
#include "sim/plan/task_graph.hpp"

namespace foreshard {

namespace {

constexpr double mib = 1048576.0;

using Named = std::vector<GradientTensor>;

void add(Named& list, std::string_view name, std::int64_t elements) {
    if (elements > 0) list.push_back({name, elements, 0});
}

void add_norm(const Job& job, std::string_view weight, std::string_view bias, Named& list) {
    add(list, weight, job.model.hidden);
    add(list, bias, job.model.norm == NormKind::layer_norm ? job.model.hidden : 0);
}

Named layer_tensors(const Job& job) {
    const ModelSpec& model = job.model;
    const std::int64_t query = model.query_width() / job.plan.tp;
    const std::int64_t qkv = query + std::int64_t{2} * std::max(model.kv_heads / job.plan.tp, 1) * model.head_dim;
    const std::int64_t ffn = model.ffn_hidden / job.plan.tp;
    const std::int64_t inner = model.gated_mlp ? 2 * ffn : ffn;
    Named list;
    add_norm(job, "norm1.weight", "norm1.bias", list);
    add(list, "qkv.weight", model.hidden * qkv);
    add(list, "qkv.bias", model.qkv_bias ? qkv : 0);
    add(list, "projection.weight", query * model.hidden);
    add(list, "projection.bias", model.linear_bias ? model.hidden : 0);
    add_norm(job, "norm2.weight", "norm2.bias", list);
    add(list, "fc1.weight", model.hidden * inner);
    add(list, "fc1.bias", model.linear_bias ? inner : 0);
    add(list, "fc2.weight", ffn * model.hidden);
    add(list, "fc2.bias", model.linear_bias ? model.hidden : 0);
    return list;
}

/// Where pipeline ranks share the vocabulary, rows and the rest lie apart.
Named embedding_tensors(const Job& job, bool rows, bool rest) {
    const ModelSpec& model = job.model;
    Named list;
    if (rows) add(list, "embedding.weight", vocabulary_rows(job) * model.hidden);
    if (!rest) return list;
    add(list, "positions.weight", model.positions == PositionKind::learned ? model.max_positions * model.hidden : 0);
    add(list, "token_types.weight", model.token_types * model.hidden);
    if (model.embedding_norm) add_norm(job, "embedding_norm.weight", "embedding_norm.bias", list);
    return list;
}

/// A block of another shape (experts, prediction heads, encoder heads) is one tensor beyond what is known of it.
Named block_tensors(const Job& job, const OpBlock& block) {
    Named list;
    if (block.kind == BlockKind::layer && block.expert_parameters == 0) list = layer_tensors(job);
    const bool shared = vocabulary_shares(job.plan) > 1;
    const auto has = [&](std::string_view name) {
        return std::any_of(block.forward.begin(), block.forward.end(), [&](const Op& op) { return op.name == name; });
    };
    const bool rows = has("embedding");
    if (block.kind == BlockKind::embedding) list = embedding_tensors(job, rows, !shared || !rows);
    const bool norm = block.kind == BlockKind::head && block.parameters > 0 && (!shared || has("final_norm"));
    if (norm) add_norm(job, "norm.weight", "norm.bias", list);
    std::int64_t known = 0;
    for (const GradientTensor& tensor : list) known += tensor.elements;
    add(list, block.kind == BlockKind::head ? "head.weight" : "other", block.parameters - known);
    return list;
}

/// Limits of the first and the other buckets, in elements; 0: none.
std::pair<double, double> limits(const Job& job) {
    const double bytes = gradient_bytes(job);
    const auto asked = [&](double mb, double otherwise) { return mb > 0.0 ? mb * 1e6 / bytes : otherwise; };
    switch (job.software.structure.gradient_buckets) {
        case GradientBuckets::megatron: {
            const double limit = asked(job.plan.bucket_mb, std::max(40e6, 1e6 * job.plan.dp * job.plan.cp));
            return {asked(job.plan.first_bucket_mb, limit), limit};
        }
        case GradientBuckets::torch:
            return {asked(job.plan.first_bucket_mb, mib / bytes), asked(job.plan.bucket_mb, 25.0 * mib / bytes)};
        case GradientBuckets::deepspeed: {
            const double limit = asked(job.plan.bucket_mb, 5e8);
            return {asked(job.plan.first_bucket_mb, limit), limit};
        }
    }
    return {0.0, 0.0};
}

}  // namespace

std::vector<GradientTensor> gradients_in_ready_order(const Job& job, const StageOps& stage) {
    std::vector<GradientTensor> all;
    const std::vector<Unit> units = stage_units(stage);
    for (std::size_t u = units.size(); u-- > 0;) {
        Named list = block_tensors(job, stage.blocks[static_cast<std::size_t>(units[u].block)]);
        for (std::size_t i = list.size(); i-- > 0;) {
            list[i].unit = static_cast<std::int32_t>(u);
            all.push_back(list[i]);
        }
    }
    return all;
}

std::vector<GradientBucket> fill_buckets(const std::vector<GradientTensor>& tensors, double first_limit, double limit) {
    std::vector<GradientBucket> buckets;
    GradientBucket open;
    for (const GradientTensor& tensor : tensors) {
        open.elements += tensor.elements;
        ++open.tensors;
        open.last_unit = tensor.unit;
        const double most = buckets.empty() ? first_limit : limit;
        if (most <= 0.0 || static_cast<double>(open.elements) < most) continue;
        buckets.push_back(open);
        open = {};
    }
    if (open.tensors > 0) buckets.push_back(open);
    return buckets;
}

std::vector<std::int64_t> ddp_bucket_bytes(const std::vector<GradientTensor>& tensors, int element_bytes,
                                           std::int64_t first_bytes, std::int64_t cap_bytes) {
    const double bytes = element_bytes;
    std::vector<std::int64_t> sizes;
    for (const GradientBucket& bucket :
         fill_buckets(tensors, static_cast<double>(first_bytes) / bytes, static_cast<double>(cap_bytes) / bytes)) {
        sizes.push_back(bucket.elements * element_bytes);
    }
    return sizes;
}

std::vector<std::int64_t> mirrored_pack_bytes(std::int64_t gradient_bytes, int packs) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(packs), gradient_bytes / packs);
    sizes.back() += gradient_bytes % packs;
    return sizes;
}

StageBuckets stage_buckets(const std::vector<GradientBucket>& buckets, std::int32_t units) {
    StageBuckets result;
    std::int32_t end = units;
    for (const GradientBucket& bucket : buckets) {
        if (bucket.last_unit < end) {
            result.parts.push_back({bucket.last_unit, end - bucket.last_unit});
            end = bucket.last_unit;
        }
        result.reduces.push_back(
            {static_cast<double>(bucket.elements), static_cast<std::int32_t>(result.parts.size()) - 1, Seconds(0.0)});
    }
    if (end > 0 && !result.parts.empty()) {
        result.parts.back().first_unit = 0;
        result.parts.back().units += end;
    }
    return result;
}

StageBuckets bucket_stage(const Job& job, const StageOps& stage, bool first_stage) {
    const bool megatron = job.software.structure.gradient_buckets == GradientBuckets::megatron;
    const bool whole = megatron && !first_stage;
    const auto [first, rest] = whole ? std::pair(0.0, 0.0) : limits(job);
    return stage_buckets(fill_buckets(gradients_in_ready_order(job, stage), first, rest),
                         static_cast<std::int32_t>(stage_units(stage).size()));
}

}  // namespace foreshard
