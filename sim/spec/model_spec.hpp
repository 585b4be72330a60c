#pragma once

#include <cstdint>
#include <optional>
#include <string>

/// Shapes of a network; no hardware, no plan.
namespace foreshard {

enum class NormKind { layer_norm, rms_norm };
enum class PositionKind { learned, rotary, alibi, none };
enum class AttentionMask { causal, bidirectional };

/// Mixture-of-experts feed-forward: `topk` of `num_experts` routed experts and one optional shared expert.
struct MoeSpec {
    int num_experts = 0;
    int topk = 0;
    std::int64_t ffn_hidden = 0;         ///< of one routed expert
    std::int64_t shared_ffn_hidden = 0;  ///< 0: no shared expert
    int first_dense_layers = 0;          ///< leading layers with the dense MLP
};

struct ModelSpec {
    std::string id;
    std::string name;
    std::string family;
    int num_layers = 0;
    std::int64_t hidden = 0;
    std::int64_t ffn_hidden = 0;
    int heads = 0;
    int kv_heads = 0;
    std::int64_t head_dim = 0;
    std::int64_t seq_length = 0;
    std::int64_t vocab_size = 0;  ///< before padding
    int vocab_divisor = 128;      ///< the vocabulary is padded to a multiple of this times TP
    bool gated_mlp = false;
    bool tied_embeddings = false;
    NormKind norm = NormKind::layer_norm;
    PositionKind positions = PositionKind::learned;
    std::int64_t max_positions = 0;
    AttentionMask mask = AttentionMask::causal;
    bool linear_bias = true;
    bool qkv_bias = true;
    int token_types = 0;  ///< BERT: 2; also means pooler and masked-LM transform
    bool embedding_norm = false;
    int mtp_layers = 0;  ///< multi-token-prediction layers after the decoder
    std::optional<MoeSpec> moe;
    std::optional<double> published_parameters;

    /// Norms stand behind the residuals, as in BERT (arXiv 1810.04805), not in front of attention and MLP.
    bool post_norm() const { return token_types > 0; }
    std::int64_t query_width() const { return heads * head_dim; }
    std::int64_t kv_width() const { return kv_heads * head_dim; }
};

/// Vocabulary padded to a multiple of vocab_divisor * tp (Megatron-LM build_tokenizer.py, _vocab_size_with_padding).
std::int64_t padded_vocab(const ModelSpec& model, int tp);

/// True when decoder layer `layer` (0-based) has experts.
bool is_moe_layer(const ModelSpec& model, int layer);

/// Parameters of one decoder layer over all its tensor- and expert-parallel shards.
std::int64_t layer_parameters(const ModelSpec& model, bool moe_layer);

/// All parameters, with the vocabulary as given (not padded), tied embeddings counted once.
std::int64_t total_parameters(const ModelSpec& model);

/// Forward FLOPs of one sequence, by the uniform formula L(2S(2h^2 + 2h h_kv) + 2S h ffn (2|3) + 4 S^2 h) + 2 S h V;
/// training counts three times this.
/// @param causal_half count only the lower half of the score matrix
double forward_flops_per_sequence(const ModelSpec& model, std::int64_t seq_length, bool causal_half);

}  // namespace foreshard
