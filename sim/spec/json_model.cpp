#include <array>

#include "sim/spec/json_specs.hpp"

namespace foreshard {

namespace {

const std::vector<std::pair<std::string_view, NormKind>>& norm_names() {
    static const std::vector<std::pair<std::string_view, NormKind>> names = {{"layer-norm", NormKind::layer_norm},
                                                                             {"rms-norm", NormKind::rms_norm}};
    return names;
}

const std::vector<std::pair<std::string_view, PositionKind>>& position_names() {
    static const std::vector<std::pair<std::string_view, PositionKind>> names = {{"learned", PositionKind::learned},
                                                                                 {"rotary", PositionKind::rotary},
                                                                                 {"alibi", PositionKind::alibi},
                                                                                 {"none", PositionKind::none}};
    return names;
}

const std::vector<std::pair<std::string_view, AttentionMask>>& mask_names() {
    static const std::vector<std::pair<std::string_view, AttentionMask>> names = {
        {"causal", AttentionMask::causal}, {"bidirectional", AttentionMask::bidirectional}};
    return names;
}

template <class T>
std::string_view name_of(const std::vector<std::pair<std::string_view, T>>& names, T value) {
    for (const auto& [name, known] : names) {
        if (known == value) return name;
    }
    return "";
}

MoeSpec read_moe(JsonObject object) {
    MoeSpec moe;
    moe.num_experts = object.required<int>("num_experts", Range::positive);
    moe.topk = object.required<int>("topk", Range::positive);
    moe.ffn_hidden = object.required<std::int64_t>("ffn_hidden_size", Range::positive);
    moe.shared_ffn_hidden = object.optional<std::int64_t>("shared_ffn_hidden_size", Range::not_negative).value_or(0);
    moe.first_dense_layers = object.optional<int>("first_dense_layers", Range::not_negative).value_or(0);
    object.finish();
    return moe;
}

void read_shape(JsonObject& root, ModelSpec& model) {
    model.num_layers = root.required<int>("num_layers", Range::positive);
    model.hidden = root.required<std::int64_t>("hidden_size", Range::positive);
    model.ffn_hidden = root.required<std::int64_t>("ffn_hidden_size", Range::positive);
    model.heads = root.required<int>("num_attention_heads", Range::positive);
    model.kv_heads = root.required<int>("num_query_groups", Range::positive);
    model.head_dim = root.required<std::int64_t>("kv_channels", Range::positive);
    model.seq_length = root.required<std::int64_t>("seq_length", Range::positive);
    model.vocab_size = root.required<std::int64_t>("vocab_size", Range::positive);
    model.vocab_divisor = root.required<int>("make_vocab_size_divisible_by", Range::not_negative);
    model.max_positions = root.required<std::int64_t>("max_position_embeddings", Range::not_negative);
}

void read_options(JsonObject& root, ModelSpec& model) {
    model.gated_mlp = root.required<bool>("gated_mlp");
    model.tied_embeddings = root.required<bool>("tied_embeddings");
    model.norm = root.one_of("norm", norm_names());
    model.positions = root.one_of("positions", position_names());
    model.mask = root.one_of("attention", mask_names());
    model.linear_bias = root.required<bool>("linear_bias");
    model.qkv_bias = root.required<bool>("qkv_bias");
    model.token_types = root.optional<int>("token_types", Range::not_negative).value_or(0);
    model.embedding_norm = root.optional<bool>("embedding_norm").value_or(false);
    model.mtp_layers = root.optional<int>("mtp_num_layers", Range::not_negative).value_or(0);
    if (auto moe = root.optional_object("moe")) model.moe = read_moe(*moe);
}

OrderedJson to_json(const MoeSpec& moe) {
    return {{"num_experts", moe.num_experts},
            {"topk", moe.topk},
            {"ffn_hidden_size", moe.ffn_hidden},
            {"shared_ffn_hidden_size", moe.shared_ffn_hidden},
            {"first_dense_layers", moe.first_dense_layers}};
}

OrderedJson shape_json(const ModelSpec& model) {
    return {{"schema", "foreshard.model"},
            {"schema_version", "1.0"},
            {"id", model.id},
            {"name", model.name},
            {"family", model.family},
            {"num_layers", model.num_layers},
            {"hidden_size", model.hidden},
            {"ffn_hidden_size", model.ffn_hidden},
            {"num_attention_heads", model.heads},
            {"num_query_groups", model.kv_heads},
            {"kv_channels", model.head_dim},
            {"seq_length", model.seq_length},
            {"vocab_size", model.vocab_size},
            {"make_vocab_size_divisible_by", model.vocab_divisor}};
}

}  // namespace

ModelSpec read_model(const Json& value, const std::string& source, const std::string& path) {
    JsonObject root = open_document(value, "foreshard.model", source, path);
    ModelSpec model;
    model.id = root.required<std::string>("id");
    model.name = root.optional<std::string>("name").value_or(model.id);
    model.family = root.optional<std::string>("family").value_or("");
    read_shape(root, model);
    read_options(root, model);
    model.published_parameters = root.optional<double>("published_parameters", Range::positive);
    root.ignore("sources");
    root.finish();
    return model;
}

OrderedJson to_json(const ModelSpec& model) {
    OrderedJson out = shape_json(model);
    out["gated_mlp"] = model.gated_mlp;
    out["tied_embeddings"] = model.tied_embeddings;
    out["norm"] = name_of(norm_names(), model.norm);
    out["positions"] = name_of(position_names(), model.positions);
    out["max_position_embeddings"] = model.max_positions;
    out["attention"] = name_of(mask_names(), model.mask);
    out["linear_bias"] = model.linear_bias;
    out["qkv_bias"] = model.qkv_bias;
    if (model.token_types > 0) out["token_types"] = model.token_types;
    if (model.embedding_norm) out["embedding_norm"] = true;
    if (model.mtp_layers > 0) out["mtp_num_layers"] = model.mtp_layers;
    if (model.moe) out["moe"] = to_json(*model.moe);
    if (model.published_parameters) out["published_parameters"] = *model.published_parameters;
    return out;
}

}  // namespace foreshard
