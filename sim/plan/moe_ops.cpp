#include "sim/plan/op_builders.hpp"

/// Mixture-of-experts feed-forward, balanced routing: every rank dispatches top-k copies of its token share, exchanges
/// them over the expert-parallel group and computes the copies that its own experts receive.
namespace foreshard {

namespace {

struct ExpertShapes {
    std::int64_t routed = 0;      ///< token copies that this rank dispatches
    std::int64_t per_expert = 0;  ///< token copies that one local expert computes
    std::int64_t local_experts = 0;
    std::int64_t ffn = 0;    ///< expert width of the rank
    std::int64_t inner = 0;  ///< first linear's output width
    double message = 0.0;    ///< bytes exchanged over the group
};

ExpertShapes expert_shapes(const Job& job, const OpShapes& shapes) {
    const MoeSpec& moe = *job.model.moe;
    const int etp = expert_tp(job.plan);
    // Without sequence parallelism each TP rank still dispatches its own 1/tp of the tokens.
    const std::int64_t tokens = shapes.tokens / job.plan.tp;
    ExpertShapes e;
    e.routed = tokens * moe.topk;
    e.local_experts = moe.num_experts / job.plan.ep;
    e.per_expert = std::max<std::int64_t>(1, e.routed * etp / e.local_experts);
    e.ffn = moe.ffn_hidden / etp;
    e.inner = job.model.gated_mlp ? 2 * e.ffn : e.ffn;
    e.message = static_cast<double>(shapes.element) * static_cast<double>(e.routed * shapes.hidden);
    return e;
}

void append_exchange(const Job& job, const ExpertShapes& e, std::string_view name, std::vector<Op>& ops) {
    if (job.plan.ep > 1) ops.push_back(collective(name, CollectiveKind::all_to_all, Axis::ep, e.message));
}

void append_shared_forward(const Job& job, const OpShapes& shapes, OpBlock& block) {
    if (job.model.moe->shared_ffn_hidden == 0) return;
    Job dense = job;
    dense.model.ffn_hidden = job.model.moe->shared_ffn_hidden;
    append_mlp(dense, shapes, block);
}

void append_shared_backward(const Job& job, const OpShapes& shapes, OpBlock& block) {
    if (job.model.moe->shared_ffn_hidden == 0) return;
    Job dense = job;
    dense.model.ffn_hidden = job.model.moe->shared_ffn_hidden;
    append_mlp_backward(dense, shapes, block);
}

}  // namespace

void append_experts(const Job& job, const OpShapes& shapes, OpBlock& block) {
    const ExpertShapes e = expert_shapes(job, shapes);
    const std::int64_t copies = e.per_expert * e.local_experts;
    std::vector<Op>& ops = block.forward;
    ops.push_back(
        gemm("router", shapes.tokens / job.plan.tp, job.model.moe->num_experts, shapes.hidden, shapes.element));
    ops.push_back(memory("permute", e.message, e.message, static_cast<ByteCount>(e.message)));
    append_exchange(job, e, "ep_dispatch", ops);
    ops.push_back(gemm("expert_fc1", e.per_expert, e.inner, shapes.hidden, shapes.element, e.local_experts));
    ops.back().saved = shapes.element * copies * e.inner;
    ops.push_back(memory("expert_activation", static_cast<double>(shapes.element * copies * e.inner),
                         static_cast<double>(shapes.element * copies * e.ffn),
                         activation_saved(job, shapes.element * copies * e.ffn)));
    ops.push_back(gemm("expert_fc2", e.per_expert, shapes.hidden, e.ffn, shapes.element, e.local_experts));
    append_exchange(job, e, "ep_combine", ops);
    ops.push_back(memory("unpermute", e.message, e.message, static_cast<ByteCount>(e.message)));
    append_shared_forward(job, shapes, block);
}

void append_experts_backward(const Job& job, const OpShapes& shapes, OpBlock& block) {
    const ExpertShapes e = expert_shapes(job, shapes);
    const std::int64_t copies = e.per_expert * e.local_experts;
    const Linear fc1 = linear("expert_fc1", "expert_fc1_dgrad", "expert_fc1_wgrad", e.per_expert, e.inner,
                              shapes.hidden, shapes.element, e.local_experts);
    const Linear fc2 = linear("expert_fc2", "expert_fc2_dgrad", "expert_fc2_wgrad", e.per_expert, shapes.hidden, e.ffn,
                              shapes.element, e.local_experts);
    const Linear router = linear("router", "router_dgrad", "router_wgrad", shapes.tokens / job.plan.tp,
                                 job.model.moe->num_experts, shapes.hidden, shapes.element);
    std::vector<Op>& ops = block.input_grad;
    append_shared_backward(job, shapes, block);
    ops.push_back(memory("unpermute_grad", e.message, e.message));
    append_exchange(job, e, "ep_combine_grad", ops);
    ops.push_back(fc2.input_grad);
    const auto width = static_cast<double>(shapes.element * copies * e.ffn);
    ops.push_back(memory("expert_activation_grad", 3.0 * width, 2.0 * width));
    ops.push_back(fc1.input_grad);
    append_exchange(job, e, "ep_dispatch_grad", ops);
    ops.push_back(memory("permute_grad", e.message, e.message));
    ops.push_back(router.input_grad);
    block.weight_grad.push_back(fc2.weight_grad);
    block.weight_grad.push_back(fc1.weight_grad);
    block.weight_grad.push_back(router.weight_grad);
}

}  // namespace foreshard
