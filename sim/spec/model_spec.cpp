#include "sim/spec/model_spec.hpp"

namespace foreshard {

namespace {

std::int64_t norm_parameters(const ModelSpec& model) {
    return model.norm == NormKind::layer_norm ? 2 * model.hidden : model.hidden;
}

std::int64_t attention_parameters(const ModelSpec& model) {
    const std::int64_t qkv = model.query_width() + 2 * model.kv_width();
    return model.hidden * qkv + (model.qkv_bias ? qkv : 0) + model.query_width() * model.hidden +
           (model.linear_bias ? model.hidden : 0);
}

std::int64_t mlp_parameters(const ModelSpec& model, std::int64_t ffn) {
    const std::int64_t inner = model.gated_mlp ? 2 * ffn : ffn;
    return model.hidden * inner + ffn * model.hidden + (model.linear_bias ? inner + model.hidden : 0);
}

std::int64_t moe_parameters(const ModelSpec& model) {
    const MoeSpec& moe = *model.moe;
    const std::int64_t shared = moe.shared_ffn_hidden > 0 ? mlp_parameters(model, moe.shared_ffn_hidden) : 0;
    return model.hidden * moe.num_experts + moe.num_experts * mlp_parameters(model, moe.ffn_hidden) + shared;
}

/// Feed-forward width that one token passes through.
std::int64_t active_ffn(const ModelSpec& model, int layer) {
    if (!is_moe_layer(model, layer)) return model.ffn_hidden;
    return model.moe->topk * model.moe->ffn_hidden + model.moe->shared_ffn_hidden;
}

/// BERT: token-type table, embedding norm, pooler, masked-LM transform with its norm, and the output bias.
std::int64_t encoder_extras(const ModelSpec& model) {
    if (model.token_types == 0) return 0;
    const std::int64_t dense = model.hidden * model.hidden + model.hidden;
    return model.token_types * model.hidden + 2 * dense + 2 * model.hidden + model.vocab_size;
}

}  // namespace

std::int64_t padded_vocab(const ModelSpec& model, int tp) {
    if (model.vocab_divisor <= 0) return model.vocab_size;
    const std::int64_t multiple = static_cast<std::int64_t>(model.vocab_divisor) * tp;
    return (model.vocab_size + multiple - 1) / multiple * multiple;
}

bool is_moe_layer(const ModelSpec& model, int layer) {
    return model.moe && layer >= model.moe->first_dense_layers;
}

std::int64_t layer_parameters(const ModelSpec& model, bool moe_layer) {
    const std::int64_t feed_forward = moe_layer ? moe_parameters(model) : mlp_parameters(model, model.ffn_hidden);
    return attention_parameters(model) + feed_forward + 2 * norm_parameters(model);
}

std::int64_t total_parameters(const ModelSpec& model) {
    std::int64_t total = model.vocab_size * model.hidden;
    if (!model.tied_embeddings) total += model.vocab_size * model.hidden;
    if (model.positions == PositionKind::learned) total += model.max_positions * model.hidden;
    if (model.embedding_norm) total += norm_parameters(model);
    for (int layer = 0; layer < model.num_layers; ++layer) {
        total += layer_parameters(model, is_moe_layer(model, layer));
    }
    // Post-norm encoders have no norm after the last layer.
    if (model.token_types == 0) total += norm_parameters(model);
    return total + encoder_extras(model);
}

double forward_flops_per_sequence(const ModelSpec& model, std::int64_t seq_length, bool causal_half) {
    const auto s = static_cast<double>(seq_length);
    const auto h = static_cast<double>(model.hidden);
    const auto q = static_cast<double>(model.query_width());
    const auto kv = static_cast<double>(model.kv_width());
    const double scores = 4.0 * s * s * q * (causal_half ? 0.5 : 1.0);
    double flops = 2.0 * s * h * static_cast<double>(model.vocab_size);
    for (int layer = 0; layer < model.num_layers; ++layer) {
        const auto ffn = static_cast<double>(active_ffn(model, layer));
        flops += 2.0 * s * (2.0 * h * q + 2.0 * h * kv) + 2.0 * s * h * ffn * (model.gated_mlp ? 3.0 : 2.0) + scores;
    }
    return flops;
}

}  // namespace foreshard
