#include "runtime/unit_run.hpp"

/// The embedding in front of the layers, and the head with the loss behind them.
namespace foreshard::runtime {

namespace {

std::int32_t first_row(const UnitRun& run) {
    return run.rank.vocabulary.first;
}

/// Statistics of a norm that keeps none: its input is there, so that they can be had again.
Buffer statistics_of(const UnitRun& run, Tensor x) {
    Buffer statistics(run.rank.pool, MemoryKind::activations, x.rows, 2, run.device().state_type());
    run.device().norm_statistics(run.rank.job.model.norm, x, statistics.tensor());
    return statistics;
}

void end_norm(UnitRun& run, Slot in, Affine w) {
    const Tensor x = run.tensor(in);
    const Tensor y = run.make(Slot::norm1, x.rows, x.columns);
    run.device().norm(run.rank.job.model.norm, x, statistics_of(run, x).tensor(), w, y);
}

void end_norm_grad(UnitRun& run, Slot in, Slot flow, ParameterId weight, Affine dw) {
    const Tensor x = run.tensor(in);
    const Tensor gradient = run.tensor(flow);
    run.device().norm_grad(run.rank.job.model.norm, gradient, x, statistics_of(run, x).tensor(), run.weight(weight), {},
                           gradient, dw);
    run.drop(in);
}

/// Lookup of the rows that the rank has; the sum over tensor parallel ranks is the next op.
void embedding(UnitRun& run) {
    const Tensor y = run.make(Slot::sum, run.tokens(), run.hidden());
    run.device().take_rows(run.data.tokens, first_row(run), run.weight(ParameterId::embedding), y);
    if (run.rank.job.plan.tp == 1) finish_embedding(run);
}

void embedding_grad(UnitRun& run) {
    if (!run.rank.sequence_parallel) embedding_inputs_grad(run);
    run.device().rows_grad(run.data.tokens, first_row(run), run.tensor(Slot::grad),
                           run.parameters.gradient(run.unit, ParameterId::embedding));
    run.drop(Slot::grad);
}

bool has_transform(const UnitRun& run) {
    return run.rank.job.model.token_types > 0;
}

/// Dense layer and GELU of an encoder's head, in front of its norm.
void transform(UnitRun& run) {
    const Tensor z = run.make(Slot::fc1, run.shard_tokens(), run.hidden());
    const Tensor y = run.make(Slot::activated, run.shard_tokens(), run.hidden());
    run.device().linear(run.tensor(Slot::input), run.affine(ParameterId::transform_weight, ParameterId::transform_bias),
                        z);
    run.device().activation(ActivationKind::gelu, z, y);
}

void transform_dgrad(UnitRun& run) {
    run.device().activation_grad(ActivationKind::gelu, run.tensor(Slot::fc1), run.tensor(Slot::grad),
                                 run.tensor(Slot::grad));
    run.drop(Slot::fc1);
    run.move(Slot::grad, Slot::grad_transform);
    const Tensor dx = run.make(Slot::grad, run.shard_tokens(), run.hidden());
    run.device().linear_input_grad(run.tensor(Slot::grad_transform), run.weight(ParameterId::transform_weight), dx);
}

void transform_wgrad(UnitRun& run) {
    run.device().linear_weight_grad(run.tensor(Slot::grad_transform), run.tensor(Slot::input),
                                    run.affine_grad(ParameterId::transform_weight, ParameterId::transform_bias));
    run.drop(Slot::grad_transform);
    run.drop(Slot::input);
}

Slot head_norm_input(const UnitRun& run) {
    return has_transform(run) ? Slot::activated : Slot::input;
}

void final_norm(UnitRun& run) {
    end_norm(run, head_norm_input(run), run.affine(ParameterId::head_norm_weight, ParameterId::head_norm_bias));
}

void final_norm_grad(UnitRun& run) {
    end_norm_grad(run, head_norm_input(run), Slot::grad_linear, ParameterId::head_norm_weight,
                  run.affine_grad(ParameterId::head_norm_weight, ParameterId::head_norm_bias));
    run.move(Slot::grad_linear, Slot::grad);
}

Tensor output_weight(const UnitRun& run) {
    const Tensor own = run.weight(ParameterId::output_weight);
    return own ? own : run.rank.table_store->weight(run.rank.table_unit, ParameterId::embedding);
}

Tensor output_weight_grad(UnitRun& run) {
    const Tensor own = run.parameters.gradient(run.unit, ParameterId::output_weight);
    return own ? own : run.rank.table_store->gradient(run.rank.table_unit, ParameterId::embedding);
}

void logits(UnitRun& run) {
    const Slot in = run.rank.sequence_parallel ? Slot::gathered : Slot::norm1;
    const Tensor y = run.make(Slot::logits, run.tokens(), run.rank.shapes.vocab);
    run.device().linear(run.tensor(in), {output_weight(run), run.weight(ParameterId::output_bias)}, y);
    run.drop(Slot::gathered);
}

void logits_dgrad(UnitRun& run) {
    const Tensor dx = run.make(Slot::grad_linear, run.tokens(), run.hidden());
    run.device().linear_input_grad(run.tensor(Slot::logits), output_weight(run), dx);
}

void logits_wgrad(UnitRun& run) {
    const Slot x = run.rank.sequence_parallel ? Slot::gathered_norm1 : Slot::norm1;
    run.device().linear_weight_grad(
        run.tensor(Slot::logits), run.tensor(x),
        {output_weight_grad(run), run.parameters.gradient(run.unit, ParameterId::output_bias)});
    run.drop(Slot::logits);
    run.drop(x);
}

SoftmaxParts parts_of(const UnitRun& run) {
    return {run.tensor(Slot::softmax_maximum), run.tensor(Slot::softmax_sum), run.tensor(Slot::softmax_target)};
}

/// Sums and target logits are those of all ranks now.
void finish_loss(UnitRun& run) {
    const SoftmaxParts parts = parts_of(run);
    if (run.rank.tp == 0) run.device().cross_entropy(run.data.targets, parts, run.rank.loss_scale, run.rank.loss);
    run.device().softmax_divide(parts.sum, run.tensor(Slot::logits));
    run.drop(Slot::softmax_maximum);
    run.drop(Slot::softmax_sum);
    run.drop(Slot::softmax_target);
}

void cross_entropy(UnitRun& run) {
    run.make_state(Slot::softmax_maximum, run.tokens(), 1);
    run.make_state(Slot::softmax_sum, run.tokens(), 1);
    run.make_state(Slot::softmax_target, run.tokens(), 1);
    run.device().softmax_parts(run.data.targets, run.rank.vocabulary, run.tensor(Slot::logits), parts_of(run));
    if (run.rank.job.plan.tp == 1) finish_loss(run);
}

void cross_entropy_grad(UnitRun& run) {
    run.device().cross_entropy_grad(run.data.targets, run.rank.vocabulary, run.rank.loss_scale,
                                    run.tensor(Slot::logits));
}

constexpr NamedKernel end_list[] = {
    {"embedding", embedding},
    {"embedding_grad", embedding_grad},
    {"mlm_transform", transform},
    {"mlm_transform_dgrad", transform_dgrad},
    {"mlm_transform_wgrad", transform_wgrad},
    {"final_norm", final_norm},
    {"final_norm_grad", final_norm_grad},
    {"logits", logits},
    {"logits_dgrad", logits_dgrad},
    {"logits_wgrad", logits_wgrad},
    {"cross_entropy", cross_entropy},
    {"cross_entropy_grad", cross_entropy_grad},
};

}  // namespace

/// What is whole on every tensor parallel rank is added behind the sum over them.
void finish_embedding(UnitRun& run) {
    const Tensor sum = run.tensor(Slot::sum);
    const Tensor positions = run.weight(ParameterId::positions);
    const Tensor types = run.weight(ParameterId::token_types);
    if (positions) run.device().add_rows(run.shard(run.data.positions), positions, sum);
    if (types) run.device().add_rows(run.shard(run.data.token_types), types, sum);
    const Affine norm = run.affine(ParameterId::embedding_norm_weight, ParameterId::embedding_norm_bias);
    if (norm.weight) end_norm(run, Slot::sum, norm);
}

void embedding_inputs_grad(UnitRun& run) {
    if (run.parameters.has(run.unit, ParameterId::embedding_norm_weight)) {
        end_norm_grad(run, Slot::sum, Slot::grad, ParameterId::embedding_norm_weight,
                      run.affine_grad(ParameterId::embedding_norm_weight, ParameterId::embedding_norm_bias));
    }
    const Tensor gradient = run.tensor(Slot::grad);
    const Tensor positions = run.parameters.gradient(run.unit, ParameterId::positions);
    const Tensor types = run.parameters.gradient(run.unit, ParameterId::token_types);
    if (positions) run.device().rows_grad(run.shard(run.data.positions), 0, gradient, positions);
    if (types) run.device().rows_grad(run.shard(run.data.token_types), 0, gradient, types);
}

/// Maximum, then target logit, then sum of exponentials.
void reduce_loss(UnitRun& run) {
    const Channel channel{Axis::tp, Lane::compute};
    const int index = run.loss_reductions++;
    Transport& transport = run.rank.transport;
    if (index == 0) {
        Buffer maximum(run.rank.pool, MemoryKind::activations, run.tokens(), 1, run.device().state_type());
        run.device().copy(run.tensor(Slot::softmax_maximum), maximum.tensor());
        time_call(run, [&] {
            return transport.all_reduce(channel, run.rank.tp_group, {maximum.span(), maximum.tensor().type},
                                        Reduction::max);
        });
        run.device().softmax_rescale(maximum.tensor(), run.tensor(Slot::logits), parts_of(run));
        return;
    }
    const Slot slot = index == 1 ? Slot::softmax_target : Slot::softmax_sum;
    time_call(run,
              [&] { return transport.all_reduce(channel, run.rank.tp_group, run.elements(slot), Reduction::sum); });
    if (index == 2) finish_loss(run);
}

std::span<const NamedKernel> end_kernels() {
    return end_list;
}

}  // namespace foreshard::runtime
