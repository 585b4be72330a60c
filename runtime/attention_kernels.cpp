#include "runtime/unit_run.hpp"

/// Attention core, a kernel for each product and each softmax, and what is done to queries and keys in front of it.
namespace foreshard::runtime {

namespace {

/// Rotary embedding. Without it nothing: heads are read where they lie.
void turn(UnitRun& run, Slot qkv, Turn direction) {
    if (run.rank.job.model.positions != PositionKind::rotary) return;
    run.device().rotate(run.rank.attention, run.tensor(qkv), direction);
}

/// In front of the layers, where ranks share the rest of the embedding: what is added to the rows.
void positions(UnitRun& run) {
    if (run.kind == BlockKind::embedding) return finish_embedding(run);
    turn(run, Slot::qkv, Turn::forward);
}

void positions_grad(UnitRun& run) {
    if (run.kind == BlockKind::embedding) return embedding_inputs_grad(run);
    turn(run, Slot::grad_qkv, Turn::backward);
}

void scores(UnitRun& run) {
    const AttentionShape& shape = run.rank.attention;
    const Tensor out = run.make(Slot::scores, shape.score_rows(), shape.seq);
    run.device().attention_scores(shape, run.tensor(Slot::qkv), out);
}

void softmax(UnitRun& run) {
    run.device().attention_softmax(run.rank.attention, run.tensor(Slot::scores));
}

/// Run again for selective recomputation it gives the context that is still there; probabilities are what is wanted.
void context(UnitRun& run) {
    const bool known = run.has(Slot::context);
    const Tensor out = known ? run.tensor(Slot::context) : run.make(Slot::context, run.tokens(), run.rank.shapes.query);
    run.device().attention_context(run.rank.attention, run.tensor(Slot::qkv), run.tensor(Slot::scores), out);
    if (!run.keeps_scores && !known) run.drop(Slot::scores);
}

void context_grad(UnitRun& run) {
    const AttentionShape& shape = run.rank.attention;
    const Tensor qkv = run.tensor(Slot::qkv);
    const Tensor dscores = run.make(Slot::grad_scores, shape.score_rows(), shape.seq);
    const Tensor dqkv = run.make(Slot::grad_qkv, qkv.rows, qkv.columns);
    run.device().attention_context_grad(shape, qkv, run.tensor(Slot::scores), run.tensor(Slot::grad_context), dscores,
                                        dqkv);
    run.drop(Slot::grad_context);
}

void softmax_grad(UnitRun& run) {
    run.device().attention_softmax_grad(run.rank.attention, run.tensor(Slot::scores), run.tensor(Slot::grad_scores));
    run.drop(Slot::scores);
}

void scores_grad(UnitRun& run) {
    run.device().attention_scores_grad(run.rank.attention, run.tensor(Slot::qkv), run.tensor(Slot::grad_scores),
                                       run.tensor(Slot::grad_qkv));
    run.drop(Slot::grad_scores);
    run.drop(Slot::qkv);
}

void flash(UnitRun& run) {
    const AttentionShape& shape = run.rank.attention;
    const Tensor out = run.make(Slot::context, run.tokens(), run.rank.shapes.query);
    run.device().flash_attention(shape, run.tensor(Slot::qkv), out,
                                 run.make_state(Slot::log_sum, shape.score_rows(), 1));
}

void flash_grad(UnitRun& run) {
    const Tensor qkv = run.tensor(Slot::qkv);
    const Tensor dqkv = run.make(Slot::grad_qkv, qkv.rows, qkv.columns);
    run.device().flash_attention_grad(run.rank.attention, qkv, run.tensor(Slot::context), run.tensor(Slot::log_sum),
                                      run.tensor(Slot::grad_context), dqkv);
    run.drop(Slot::grad_context);
    run.drop(Slot::log_sum);
    run.drop(Slot::qkv);
}

constexpr NamedKernel attention_list[] = {
    {"flash_attention", flash},
    {"flash_attention_grad", flash_grad},
    {"positions", positions},
    {"positions_grad", positions_grad},
    {"attention_scores", scores},
    {"attention_softmax", softmax},
    {"attention_context", context},
    {"attention_context_grad", context_grad},
    {"attention_softmax_grad", softmax_grad},
    {"attention_scores_grad", scores_grad},
};

}  // namespace

std::span<const NamedKernel> attention_kernels() {
    return attention_list;
}

}  // namespace foreshard::runtime
