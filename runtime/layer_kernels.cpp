#include "runtime/unit_run.hpp"

/// Norms, linears, activations and residuals of a layer.
namespace foreshard::runtime {

namespace {

ParameterId norm_weight(int index) {
    return index == 0 ? ParameterId::norm1_weight : ParameterId::norm2_weight;
}

ParameterId norm_bias(int index) {
    return index == 0 ? ParameterId::norm1_bias : ParameterId::norm2_bias;
}

ParameterId branch_bias(int half) {
    return half == 0 ? ParameterId::projection_bias : ParameterId::fc2_bias;
}

ActivationKind activation_kind(const UnitRun& run) {
    return run.rank.job.model.gated_mlp ? ActivationKind::swiglu : ActivationKind::gelu;
}

void norm(UnitRun& run) {
    const int index = run.norms++;
    const Tensor x = run.tensor(norm_input(run, index));
    const Tensor statistics = run.make_state(norm_statistics(index), x.rows, 2);
    const Tensor y = run.make(norm_output(index), x.rows, x.columns);
    const NormKind kind = run.rank.job.model.norm;
    run.device().norm_statistics(kind, x, statistics);
    run.device().norm(kind, x, statistics, run.affine(norm_weight(index), norm_bias(index)), y);
}

/// The gradient that entered a branch stays for the weight gradient of the branch's last linear; under sequence
/// parallelism a gathered copy of it does.
void replace_grad(UnitRun& run, int half) {
    if (!run.rank.sequence_parallel) run.move(Slot::grad, kept_grad(half));
    run.move(Slot::grad_linear, Slot::grad);
}

/// Norm in front of a branch: the gradient of the residual stream is the one around the branch and the one through it.
/// Norm behind a residual: there is only one.
void norm_grad(UnitRun& run) {
    const int index = 1 - run.norm_grads++;
    const bool post_norm = run.rank.post_norm;
    const Slot flow = post_norm ? Slot::grad : Slot::grad_linear;
    const Tensor residual = post_norm ? Tensor{} : run.tensor(Slot::grad);
    run.device().norm_grad(run.rank.job.model.norm, run.tensor(flow), run.tensor(norm_input(run, index)),
                           run.tensor(norm_statistics(index)), run.weight(norm_weight(index)), residual,
                           run.tensor(flow), run.affine_grad(norm_weight(index), norm_bias(index)));
    run.drop(norm_input(run, index));
    run.drop(norm_statistics(index));
    if (!post_norm) replace_grad(run, index);
}

void add_residual(UnitRun& run) {
    const int half = run.residuals++;
    run.device().add_residual(run.tensor(residual_source(run, half)), run.tensor(Slot::branch),
                              run.weight(branch_bias(half)), run.tensor(Slot::branch));
    run.move(Slot::branch, half == 0 ? Slot::middle : Slot::sum);
}

/// Bias of the branch's last linear. Without norms in the branch its gradient is added here, with norms there.
void add_residual_grad(UnitRun& run) {
    const int half = 1 - run.residual_grads++;
    const Tensor bias = run.parameters.gradient(run.unit, branch_bias(half));
    if (bias) run.device().bias_grad(run.tensor(Slot::grad), bias);
    if (!run.rank.post_norm) return;
    run.device().add(run.tensor(Slot::grad), run.tensor(Slot::grad_linear));
    replace_grad(run, half);
}

/// Gradient of the output of the branch's last linear, full over tensor parallel ranks.
Tensor branch_grad(const UnitRun& run, int half) {
    return run.tensor(run.rank.sequence_parallel ? kept_grad(half) : Slot::grad);
}

/// Inner linears read what was gathered under sequence parallelism.
void linear_from_input(UnitRun& run, ParameterId weight, ParameterId bias, Slot out) {
    const Slot in = run.rank.sequence_parallel ? Slot::gathered : linear_input(run, forward_half(run));
    const Affine w = run.affine(weight, bias);
    const Tensor y = run.make(out, run.tokens(), w.weight.rows);
    run.device().linear(run.tensor(in), w, y);
    run.drop(Slot::gathered);
}

void linear_to_branch(UnitRun& run, ParameterId weight, Slot in) {
    const Tensor y = run.make(Slot::branch, run.tokens(), run.hidden());
    run.device().linear(run.tensor(in), {run.weight(weight), {}}, y);
}

void qkv(UnitRun& run) {
    linear_from_input(run, ParameterId::qkv_weight, ParameterId::qkv_bias, Slot::qkv);
}

void projection(UnitRun& run) {
    linear_to_branch(run, ParameterId::projection_weight, Slot::context);
}

void fc1(UnitRun& run) {
    linear_from_input(run, ParameterId::fc1_weight, ParameterId::fc1_bias, Slot::fc1);
}

void activation(UnitRun& run) {
    const Tensor y = run.make(Slot::activated, run.tokens(), run.rank.job.model.ffn_hidden / run.rank.job.plan.tp);
    run.device().activation(activation_kind(run), run.tensor(Slot::fc1), y);
}

void fc2(UnitRun& run) {
    linear_to_branch(run, ParameterId::fc2_weight, Slot::activated);
}

void input_grad(UnitRun& run, Tensor dy, ParameterId weight, Slot out) {
    const Tensor w = run.weight(weight);
    const Tensor dx = run.make(out, run.tokens(), w.columns);
    run.device().linear_input_grad(dy, w, dx);
}

void fc2_dgrad(UnitRun& run) {
    input_grad(run, branch_grad(run, 1), ParameterId::fc2_weight, Slot::grad_activated);
}

void activation_grad(UnitRun& run) {
    const ActivationKind kind = activation_kind(run);
    const Tensor x = run.tensor(Slot::fc1);
    const Tensor dy = run.tensor(Slot::grad_activated);
    if (kind == ActivationKind::gelu) {
        run.device().activation_grad(kind, x, dy, dy);
        run.move(Slot::grad_activated, Slot::grad_fc1);
    } else {
        run.device().activation_grad(kind, x, dy, run.make(Slot::grad_fc1, x.rows, x.columns));
        run.drop(Slot::grad_activated);
    }
    run.drop(Slot::fc1);
}

void fc1_dgrad(UnitRun& run) {
    input_grad(run, run.tensor(Slot::grad_fc1), ParameterId::fc1_weight, Slot::grad_linear);
}

void projection_dgrad(UnitRun& run) {
    input_grad(run, branch_grad(run, 0), ParameterId::projection_weight, Slot::grad_context);
}

void qkv_dgrad(UnitRun& run) {
    input_grad(run, run.tensor(Slot::grad_qkv), ParameterId::qkv_weight, Slot::grad_linear);
}

/// Weight gradient of a linear; nothing else needs its operands any more.
void weight_grad(UnitRun& run, Slot dy, Slot x, Affine dw) {
    run.device().linear_weight_grad(run.tensor(dy), run.tensor(x), dw);
    run.drop(dy);
    run.drop(x);
}

Slot weight_grad_input(const UnitRun& run, int half) {
    return run.rank.sequence_parallel ? gathered_again(half) : linear_input(run, half);
}

void fc2_wgrad(UnitRun& run) {
    weight_grad(run, Slot::grad_fc2, Slot::activated, {run.parameters.gradient(run.unit, ParameterId::fc2_weight), {}});
}

void fc1_wgrad(UnitRun& run) {
    weight_grad(run, Slot::grad_fc1, weight_grad_input(run, 1),
                run.affine_grad(ParameterId::fc1_weight, ParameterId::fc1_bias));
}

void projection_wgrad(UnitRun& run) {
    weight_grad(run, Slot::grad_projection, Slot::context,
                {run.parameters.gradient(run.unit, ParameterId::projection_weight), {}});
}

void qkv_wgrad(UnitRun& run) {
    weight_grad(run, Slot::grad_qkv, weight_grad_input(run, 0),
                run.affine_grad(ParameterId::qkv_weight, ParameterId::qkv_bias));
}

constexpr NamedKernel layer_list[] = {
    {"norm", norm},
    {"norm_grad", norm_grad},
    {"bias_dropout_residual", add_residual},
    {"bias_dropout_residual_grad", add_residual_grad},
    {"qkv", qkv},
    {"qkv_dgrad", qkv_dgrad},
    {"qkv_wgrad", qkv_wgrad},
    {"projection", projection},
    {"projection_dgrad", projection_dgrad},
    {"projection_wgrad", projection_wgrad},
    {"fc1", fc1},
    {"fc1_dgrad", fc1_dgrad},
    {"fc1_wgrad", fc1_wgrad},
    {"activation", activation},
    {"activation_grad", activation_grad},
    {"fc2", fc2},
    {"fc2_dgrad", fc2_dgrad},
    {"fc2_wgrad", fc2_wgrad},
};

}  // namespace

std::span<const NamedKernel> layer_kernels() {
    return layer_list;
}

}  // namespace foreshard::runtime
