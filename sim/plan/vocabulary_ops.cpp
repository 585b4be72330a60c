#include "sim/plan/op_builders.hpp"
#include "sim/plan/parameters.hpp"

/// Embedding and output layer cut over the vocabulary, a share for every pipeline rank (arXiv 2411.05288; kernels as in
/// sail-sg/VocabularyParallelism, megatron/core/tensor_parallel/vocab_output.py and vocab_input.py).
namespace foreshard {

namespace {

double hidden_bytes(const OpShapes& shapes) {
    return static_cast<double>(shapes.element) * static_cast<double>(shapes.tokens * shapes.hidden);
}

/// Lookup of the rows that the rank has, zero for the others; the sum over ranks is a comm of its own. A tied matrix
/// lies here: its gradient is complete behind the last lookup's.
OpBlock embedding_share(const Job& job, const OpShapes& shapes) {
    OpBlock block;
    block.kind = BlockKind::embedding;
    const double bytes = hidden_bytes(shapes);
    block.forward.push_back(measured(memory("embedding", 2.0 * bytes, 2.0 * bytes)));
    if (job.plan.tp > 1) {
        const auto kind = job.plan.sequence_parallel ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
        block.forward.push_back(collective("tp_embedding_reduce", kind, Axis::tp, bytes));
    }
    if (job.plan.tp > 1 && job.plan.sequence_parallel) {
        block.weight_grad.push_back(collective("tp_embedding_gather", CollectiveKind::all_gather, Axis::tp, bytes));
    }
    const auto table = static_cast<double>(shapes.vocab * shapes.hidden);
    block.weight_grad.push_back(
        measured(memory("embedding_grad", 3.0 * bytes + 6.0 * table, 2.0 * bytes + 4.0 * table)));
    block.parameters = shapes.vocab * shapes.hidden;
    return block;
}

/// Traffic that a softmax with local statistics adds: its factor towards the global one, fp32, in T.
Op rescale(const OpShapes& shapes) {
    const double logits = static_cast<double>(shapes.tokens) * static_cast<double>(shapes.vocab);
    return measured(memory("softmax_rescale", 4.0 * logits, 4.0 * logits));
}

/// The input gradient from local statistics is kept in two parts, softmax and target rows, which the global ones
/// weigh: a 16-bit copy of the softmax, a lookup, and two passes over the hidden state. The project's own kernels work
/// on the softmax itself.
void append_local_gradient(const Job& job, const OpShapes& shapes, const Op& input_grad, std::vector<Op>& ops) {
    const double logits = static_cast<double>(shapes.tokens) * static_cast<double>(shapes.vocab);
    const double bytes = hidden_bytes(shapes);
    if (!job.software.structure.counts_buffers) {
        ops.push_back(measured(memory("softmax_copy", 4.0 * logits, shapes.element * logits)));
    }
    ops.push_back(input_grad);
    ops.push_back(measured(memory("target_rows", 4.0 * bytes, 3.0 * bytes)));
    if (job.plan.tp > 1) {
        const auto kind = job.plan.sequence_parallel ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
        ops.push_back(collective("tp_target_rows_reduce", kind, Axis::tp, bytes));
    }
}

/// Output layer whose S gives logits and softmax. The weight gradient stands in a block of its own, in front because
/// backward runs from the last block: where T is cut, its first part gives the input gradient.
void append_output_share(const Job& job, const OpShapes& shapes, StageOps& share) {
    const VocabularySplit split = *vocabulary_split(job.plan.schedule);
    const TensorParallel tp(job, shapes);
    const Linear logits =
        linear("logits", "logits_dgrad", "logits_wgrad", shapes.tokens, shapes.vocab, shapes.hidden, shapes.element);
    OpBlock weights;
    weights.kind = BlockKind::head;
    weights.weight_grad.push_back(logits.weight_grad);
    append_accumulation(job, shapes.vocab * shapes.hidden, weights.weight_grad);
    weights.parameters = rank_share_parameters(job) - shapes.vocab * shapes.hidden;
    OpBlock output;
    output.kind = BlockKind::head;
    tp.enter_forward(output.forward);
    output.forward.push_back(logits.forward);
    if (split != VocabularySplit::interlaced) output.input_grad.push_back(rescale(shapes));
    append_loss(job, shapes, output);
    std::vector<Op>& gradient = split == VocabularySplit::one_barrier ? output.forward : output.input_grad;
    if (split == VocabularySplit::one_barrier) {
        append_local_gradient(job, shapes, logits.input_grad, gradient);
    } else {
        gradient.push_back(logits.input_grad);
    }
    tp.leave_backward(gradient);
    // S keeps its input, the last stage's output, until T.
    for (const Op& op : output.forward) output.saved += op.saved;
    output.saved += shapes.element * shapes.shard_tokens * shapes.hidden;
    share.blocks.push_back(std::move(weights));
    share.blocks.push_back(std::move(output));
}

}  // namespace

OpBlock positions_block(const Job& job, const OpShapes& shapes) {
    OpBlock block;
    block.kind = BlockKind::embedding;
    const double bytes = hidden_bytes(shapes);
    const ProfileStructure& structure = job.software.structure;
    const ByteCount mask = structure.saves_embedding_mask ? shapes.shard_tokens * shapes.hidden : 0;
    block.forward.push_back(measured(memory("positions", bytes, (structure.dropout ? 3.0 : 1.0) * bytes, mask)));
    block.parameters = rank_embedding_parameters(job);
    // The summed embedding is kept beside what positions and dropout make of it.
    block.saved = mask + shapes.element * shapes.shard_tokens * shapes.hidden;
    block.forward.front().saved = block.saved;
    if (block.parameters > 0 && structure.counts_buffers) {
        block.input_grad.push_back(measured(memory("positions_grad", 2.0 * bytes, bytes)));
    }
    return block;
}

OpBlock final_norm_block(const Job& job, const OpShapes& shapes) {
    OpBlock block;
    block.kind = BlockKind::head;
    const double shard = static_cast<double>(shapes.element) * static_cast<double>(shapes.shard_tokens * shapes.hidden);
    block.forward.push_back(memory("final_norm", shard, shard, 2 * static_cast<ByteCount>(shard)));
    block.input_grad.push_back(memory("final_norm_grad", 4.0 * shard, shard));
    block.parameters = rank_head_parameters(job);
    block.saved = block.forward.front().saved;
    return block;
}

StageOps vocabulary_share_ops(const Job& job, const OpShapes& shapes) {
    StageOps share;
    share.blocks.push_back(embedding_share(job, shapes));
    append_output_share(job, shapes, share);
    return share;
}

}  // namespace foreshard
