#pragma once

#include <vector>

#include "sim/plan/op.hpp"
#include "sim/spec/layout.hpp"

/// Lowering of model layers to ops under tensor, sequence, context and expert parallelism.
namespace foreshard {

/// Sizes that every op of a rank is made of. T tokens of the rank's context-parallel share, full over TP.
struct OpShapes {
    std::int64_t tokens = 0;        ///< b s / cp
    std::int64_t shard_tokens = 0;  ///< tokens / tp under sequence parallelism, else tokens
    std::int64_t micro_batch = 0;
    std::int64_t seq = 0;  ///< full sequence
    std::int64_t hidden = 0;
    std::int64_t query = 0;  ///< query width of the rank
    std::int64_t kv = 0;     ///< key (and value) width of the rank, copies of KV heads included
    std::int64_t heads = 0;  ///< query heads of the rank
    std::int64_t head_dim = 0;
    std::int64_t vocab = 0;  ///< rows of the padded vocabulary that a rank holds, if any
    int element = 2;         ///< bytes of an activation
};
OpShapes op_shapes(const Job& job);

/// Ops of every stage; where all pipeline ranks share the vocabulary layers, an entry more for a rank's share of them.
/// Precondition: check(job) is empty.
std::vector<StageOps> build_stage_ops(const Job& job, const std::vector<StageContents>& layout);

/// One decoder layer (before recomputation is applied), its embedding, and its head; for tests and explanations.
OpBlock layer_block(const Job& job, const OpShapes& shapes, bool moe);
OpBlock embedding_block(const Job& job, const OpShapes& shapes);
OpBlock head_block(const Job& job, const OpShapes& shapes);

/// Where all pipeline ranks share the vocabulary layers: what is left of embedding and head on the end stages, and the
/// share of a rank, with the ops of pass S as forward and those of pass T as input_grad and weight_grad.
OpBlock positions_block(const Job& job, const OpShapes& shapes);
OpBlock final_norm_block(const Job& job, const OpShapes& shapes);
StageOps vocabulary_share_ops(const Job& job, const OpShapes& shapes);

OpBlock mtp_block(const Job& job, const OpShapes& shapes);

/// The same block with the plan's recomputation: what is saved shrinks, input_grad gets the ops that run again.
/// @param layers_at_once layers between two kept inputs (full recompute, uniform method)
OpBlock recomputed(OpBlock block, Recompute recompute, const OpShapes& shapes, int layers_at_once);

/// Appends `layers` equal layers that are rebuilt together (full recompute, uniform method), a block each: the input of
/// the first is kept, and the backward of the last begins with the forward of all.
void append_rebuilt_group(const OpBlock& layer, const OpShapes& shapes, int layers, StageOps& stage);

/// What a layer keeps from forward to backward.
enum class Kept : std::uint8_t { all, input, nothing };
Kept kept_of(const OpBlock& block);

/// Whole layers whose forward the layer's backward runs again first: itself, and with it those in front of it that are
/// rebuilt with it. 0: none.
int rebuilt_layers(const OpBlock& block);

}  // namespace foreshard
