#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/error.hpp"
#include "sim/spec/json_specs.hpp"

/// The config.json of Hugging Face model repositories. What a key means when it is absent is a default of the model's
/// class in the transformers library, hence the lists of model types.
namespace foreshard {

namespace {

using Types = std::set<std::string>;

bool is_in(const Types& types, const std::string& type) {
    return types.contains(type);
}

/// Models of the GPT-2 and BERT generation: biases everywhere, LayerNorm, plain MLP.
const Types& biased_types() {
    static const Types types = {"gpt2", "bert", "bloom", "opt", "gpt_neox", "gpt_bigcode", "roberta", "starcoder2"};
    return types;
}

const Types& tied_types() {
    static const Types types = {"gpt2", "bert", "bloom", "opt", "roberta", "gpt_bigcode", "gemma", "gemma2", "gemma3"};
    return types;
}

const Types& learned_position_types() {
    static const Types types = {"gpt2", "bert", "opt", "roberta", "gpt_bigcode"};
    return types;
}

/// A key that may have several names, where null means absent.
class HfObject {
public:
    HfObject(const Json& value, const std::string& source) : root_(value, source) {}

    template <class T>
    std::optional<T> find(const std::vector<std::string>& keys, Range range = Range::any) {
        std::optional<T> found;
        for (const std::string& key : keys) {
            if (!root_.has(key) || root_.at(key).is_null()) continue;
            const std::optional<T> value = root_.optional<T>(key, range);
            if (!found) found = value;
        }
        return found;
    }

    template <class T>
    T need(const std::vector<std::string>& keys) {
        const std::optional<T> value = find<T>(keys, Range::positive);
        if (!value) root_.fail(keys.front(), "this key is required in the config.json of a model, but missing");
        return *value;
    }

    JsonObject& root() { return root_; }

private:
    JsonObject root_;
};

void refuse_unknown_blocks(HfObject& hf) {
    if (hf.find<std::int64_t>({"kv_lora_rank"})) {
        hf.root().fail("kv_lora_rank", "multi-head latent attention is not simulated by this version");
    }
    if (hf.find<bool>({"is_encoder_decoder"}).value_or(false)) {
        hf.root().fail("is_encoder_decoder", "encoder-decoder models are not simulated by this version");
    }
}

void read_shape(HfObject& hf, ModelSpec& model) {
    model.num_layers = hf.need<int>({"num_hidden_layers", "n_layer", "num_layers"});
    model.hidden = hf.need<std::int64_t>({"hidden_size", "n_embd", "d_model"});
    model.heads = hf.need<int>({"num_attention_heads", "n_head"});
    model.vocab_size = hf.need<std::int64_t>({"vocab_size"});
    model.kv_heads = hf.find<int>({"num_key_value_heads"}, Range::positive).value_or(model.heads);
    const auto head_dim = hf.find<std::int64_t>({"head_dim"}, Range::positive);
    if (!head_dim && model.hidden % model.heads != 0) {
        hf.root().fail("head_dim", fmt::format("needed, because {} heads do not divide the hidden size {}", model.heads,
                                               model.hidden));
    }
    model.head_dim = head_dim.value_or(model.hidden / model.heads);
    model.ffn_hidden =
        hf.find<std::int64_t>({"intermediate_size", "n_inner", "ffn_dim"}, Range::positive).value_or(4 * model.hidden);
    const std::vector<std::string> length_keys = {"max_position_embeddings", "n_positions", "seq_length", "n_ctx"};
    model.max_positions = hf.find<std::int64_t>(length_keys, Range::positive).value_or(2048);
    model.seq_length = model.max_positions;
}

bool has_gated_mlp(const std::string& type, const std::string& activation) {
    if (is_in(biased_types(), type)) return false;
    return activation == "silu" || activation == "swiglu" || type.starts_with("gemma");
}

void read_options(HfObject& hf, const std::string& type, ModelSpec& model) {
    const bool biased = is_in(biased_types(), type);
    const auto activation = hf.find<std::string>({"hidden_act", "activation_function", "hidden_activation"});
    model.gated_mlp = has_gated_mlp(type, activation.value_or(biased ? "gelu" : "silu"));
    model.tied_embeddings = hf.find<bool>({"tie_word_embeddings"}).value_or(is_in(tied_types(), type));
    const bool rms = hf.find<double>({"rms_norm_eps"}).has_value() || !biased;
    model.norm = rms ? NormKind::rms_norm : NormKind::layer_norm;
    model.positions = is_in(learned_position_types(), type) ? PositionKind::learned : PositionKind::rotary;
    if (type == "bloom") model.positions = PositionKind::alibi;
    const bool encoder = type == "bert" || type == "roberta";
    model.mask = encoder ? AttentionMask::bidirectional : AttentionMask::causal;
    model.token_types = hf.find<int>({"type_vocab_size"}, Range::not_negative).value_or(encoder ? 2 : 0);
    model.embedding_norm = type == "bloom" || encoder;
    model.linear_bias = hf.find<bool>({"mlp_bias"}).value_or(biased);
    model.qkv_bias = hf.find<bool>({"attention_bias"}).value_or(biased || type.starts_with("qwen2"));
}

void read_experts(HfObject& hf, ModelSpec& model) {
    const auto experts = hf.find<int>({"num_local_experts", "num_experts", "n_routed_experts"}, Range::not_negative);
    const auto topk = hf.find<int>({"num_experts_per_tok"}, Range::positive);
    const auto width = hf.find<std::int64_t>({"moe_intermediate_size"}, Range::positive);
    const auto shared_width = hf.find<std::int64_t>({"shared_expert_intermediate_size"}, Range::not_negative);
    const auto shared_experts = hf.find<int>({"n_shared_experts"}, Range::not_negative);
    const auto dense = hf.find<int>({"first_k_dense_replace"}, Range::not_negative);
    if (experts.value_or(0) < 2) return;
    const std::int64_t ffn = width.value_or(model.ffn_hidden);
    model.moe = MoeSpec{.num_experts = *experts,
                        .topk = topk.value_or(2),
                        .ffn_hidden = ffn,
                        .shared_ffn_hidden = shared_width.value_or(shared_experts.value_or(0) * ffn),
                        .first_dense_layers = dense.value_or(0)};
}

std::string name_of(HfObject& hf, const std::string& type, const std::string& source) {
    const auto given = hf.find<std::string>({"_name_or_path"});
    if (given && !given->empty()) return *given;
    const std::filesystem::path folder = std::filesystem::path(source).parent_path().filename();
    return folder.empty() ? type : folder.string();
}

}  // namespace

bool is_hf_config(const Json& value) {
    if (!value.is_object() || value.contains("schema")) return false;
    constexpr std::array<const char*, 3> marks = {"model_type", "hidden_size", "n_embd"};
    return std::any_of(marks.begin(), marks.end(), [&](const char* mark) { return value.contains(mark); });
}

LoadedModel read_hf_config(const Json& value, const std::string& source) {
    HfObject hf(value, source);
    const auto type = hf.find<std::string>({"model_type"}).value_or("");
    LoadedModel loaded;
    ModelSpec& model = loaded.spec;
    model.id = model.name = name_of(hf, type, source);
    model.family = type;
    refuse_unknown_blocks(hf);
    read_shape(hf, model);
    read_options(hf, type, model);
    read_experts(hf, model);
    loaded.notes.push_back(
        fmt::format("{}: sequence length {} is the longest that the model takes", source, model.seq_length));
    const std::vector<std::string> ignored = hf.root().unknown_keys();
    if (!ignored.empty()) {
        loaded.notes.push_back(fmt::format("{}: keys without effect here: {}", source, fmt::join(ignored, ", ")));
    }
    return loaded;
}

}  // namespace foreshard
