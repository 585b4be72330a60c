#include "sim/plan/op_builders.hpp"
#include "sim/plan/parameters.hpp"

/// The embedding in front of the first layer and the head behind the last one.
namespace foreshard {

namespace {

double full_bytes(const OpShapes& shapes) {
    return static_cast<double>(shapes.element) * static_cast<double>(shapes.tokens * shapes.hidden);
}

CollectiveKind reduce_kind(const Job& job) {
    return job.plan.sequence_parallel ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
}

}  // namespace

Op measured(Op op) {
    op.measured_traffic = true;
    return op;
}

void append_loss(const Job& job, const OpShapes& shapes, OpBlock& block) {
    const double logits = static_cast<double>(shapes.tokens) * static_cast<double>(shapes.vocab);
    const ProfileNumbers& numbers = job.software.numbers;
    // Traffic of the unfused fp32 loss; the structure says whether logits stay 2 bytes wide.
    const bool fp32 = job.software.structure.fp32_cross_entropy;
    const double forward = fp32 ? numbers.cross_entropy_forward_bytes : 3.0 * shapes.element;
    const double backward = fp32 ? numbers.cross_entropy_backward_bytes : 2.0 * shapes.element;
    Op loss = memory("cross_entropy", 0.7 * forward * logits, 0.3 * forward * logits);
    // The fp32 softmax is kept until backward.
    loss.saved = 4 * shapes.tokens * shapes.vocab;
    block.forward.push_back(measured(loss));
    for (int i = 0; job.plan.tp > 1 && i < 3; ++i) {
        // Maximum, predicted logit and sum of exponentials (Megatron-LM cross_entropy.py).
        block.forward.push_back(collective("tp_loss_all_reduce", CollectiveKind::all_reduce, Axis::tp,
                                           4.0 * static_cast<double>(shapes.tokens)));
    }
    block.input_grad.push_back(
        measured(memory("cross_entropy_grad", 0.5 * backward * logits, 0.5 * backward * logits)));
}

namespace {

/// Dense layer and GELU in front of the last norm (BertLMHead of Megatron-LM, which every tensor parallel rank has
/// whole, on its tokens). Its input and what GELU reads are kept.
Linear encoder_transform(const OpShapes& shapes) {
    Linear dense = linear("mlm_transform", "mlm_transform_dgrad", "mlm_transform_wgrad", shapes.shard_tokens,
                          shapes.hidden, shapes.hidden, shapes.element);
    dense.forward.saved = ByteCount{2} * shapes.element * shapes.shard_tokens * shapes.hidden;
    return dense;
}

/// The input of a norm behind the embedding.
ByteCount embedding_sum_saved(const Job& job, const OpShapes& shapes) {
    const bool kept = job.model.embedding_norm && job.software.structure.counts_buffers;
    return kept ? shapes.element * shapes.shard_tokens * shapes.hidden : 0;
}

}  // namespace

OpBlock embedding_block(const Job& job, const OpShapes& shapes) {
    OpBlock block;
    block.kind = BlockKind::embedding;
    const double bytes = full_bytes(shapes);
    const bool dropout = job.software.structure.dropout;
    const ByteCount mask = job.software.structure.saves_embedding_mask ? shapes.shard_tokens * shapes.hidden : 0;
    const ByteCount saved = mask + embedding_sum_saved(job, shapes);
    block.forward.push_back(measured(memory("embedding", 2.0 * bytes, (dropout ? 4.0 : 2.0) * bytes, saved)));
    if (job.plan.tp > 1) {
        block.forward.push_back(collective("tp_embedding_reduce", reduce_kind(job), Axis::tp, bytes));
        if (job.plan.sequence_parallel) {
            block.weight_grad.push_back(collective("tp_embedding_gather", CollectiveKind::all_gather, Axis::tp, bytes));
        }
    }
    // The weight gradient is dense: written, and added into the main gradient, for the whole table every micro-batch.
    const auto table = static_cast<double>(shapes.vocab * shapes.hidden);
    block.weight_grad.push_back(
        measured(memory("embedding_grad", 3.0 * bytes + 6.0 * table, 2.0 * bytes + 4.0 * table)));
    block.parameters = rank_embedding_parameters(job);
    block.saved = saved;
    return block;
}

OpBlock head_block(const Job& job, const OpShapes& shapes) {
    OpBlock block;
    block.kind = BlockKind::head;
    const TensorParallel tp(job, shapes);
    const double shard = static_cast<double>(shapes.element) * static_cast<double>(shapes.shard_tokens * shapes.hidden);
    const Linear logits =
        linear("logits", "logits_dgrad", "logits_wgrad", shapes.tokens, shapes.vocab, shapes.hidden, shapes.element);
    const bool encoder = job.model.token_types > 0;
    if (encoder) block.forward.push_back(encoder_transform(shapes).forward);
    block.forward.push_back(memory("final_norm", shard, shard, 2 * static_cast<ByteCount>(shard)));
    tp.enter_forward(block.forward);
    block.forward.push_back(logits.forward);
    append_loss(job, shapes, block);
    block.input_grad.push_back(logits.input_grad);
    tp.leave_backward(block.input_grad);
    block.input_grad.push_back(memory("final_norm_grad", 4.0 * shard, shard));
    if (encoder) {
        block.input_grad.push_back(encoder_transform(shapes).input_grad);
        block.weight_grad.push_back(encoder_transform(shapes).weight_grad);
    }
    block.weight_grad.push_back(logits.weight_grad);
    append_accumulation(job, shapes.vocab * shapes.hidden, block.weight_grad);
    block.parameters = rank_head_parameters(job);
    for (const Op& op : block.forward) block.saved += op.saved;
    return block;
}

}  // namespace foreshard
