#include "sim/plan/op_builders.hpp"

namespace foreshard {

std::string_view to_string(Axis axis) {
    switch (axis) {
        case Axis::tp:
            return "tp";
        case Axis::cp:
            return "cp";
        case Axis::ep:
            return "ep";
        case Axis::dp:
            return "dp";
        case Axis::pp:
            return "pp";
        case Axis::embedding:
            return "embedding";
        case Axis::dp_shard:
            return "dp-shard";
        case Axis::dp_replica:
            return "dp-replica";
        case Axis::replica:
            return "replica";
        case Axis::host:
            return "host";
    }
    return "";
}

Op gemm(std::string_view name, std::int64_t m, std::int64_t n, std::int64_t k, int element, std::int64_t batch) {
    Op op;
    op.name = name;
    op.kind = OpKind::gemm;
    op.m = m;
    op.n = n;
    op.k = k;
    op.batch = batch;
    const auto products = static_cast<double>(batch);
    op.flops = Flops(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) * products);
    op.read = Bytes(static_cast<double>(element) * static_cast<double>(m * k + k * n) * products);
    op.written = Bytes(static_cast<double>(element) * static_cast<double>(m * n) * products);
    return op;
}

Op memory(std::string_view name, double read, double written, ByteCount saved) {
    Op op;
    op.name = name;
    op.read = Bytes(read);
    op.written = Bytes(written);
    op.saved = saved;
    return op;
}

Op collective(std::string_view name, CollectiveKind kind, Axis axis, double message) {
    Op op;
    op.name = name;
    op.kind = OpKind::collective;
    op.collective = kind;
    op.axis = axis;
    op.message = Bytes(message);
    return op;
}

Linear linear(std::string_view forward, std::string_view dgrad, std::string_view wgrad, std::int64_t tokens,
              std::int64_t n, std::int64_t k, int element, std::int64_t batch) {
    return {gemm(forward, tokens, n, k, element, batch), gemm(dgrad, tokens, k, n, element, batch),
            gemm(wgrad, n, k, tokens, element, batch)};
}

TensorParallel::TensorParallel(const Job& job, const OpShapes& shapes)
    : tp_(job.plan.tp),
      sequence_parallel_(job.plan.sequence_parallel),
      message_(static_cast<double>(shapes.element) * static_cast<double>(shapes.tokens * shapes.hidden)),
      regather_share_(job.software.structure.sp_extra_all_gather_ratio) {}

void TensorParallel::enter_forward(std::vector<Op>& ops) const {
    if (tp_ == 1 || !sequence_parallel_) return;
    ops.push_back(collective("tp_all_gather", CollectiveKind::all_gather, Axis::tp, message_));
}

void TensorParallel::leave_forward(std::vector<Op>& ops) const {
    if (tp_ == 1) return;
    ops.push_back(sequence_parallel_
                      ? collective("tp_reduce_scatter", CollectiveKind::reduce_scatter, Axis::tp, message_)
                      : collective("tp_all_reduce", CollectiveKind::all_reduce, Axis::tp, message_));
}

void TensorParallel::enter_backward(std::vector<Op>& ops) const {
    if (tp_ == 1 || !sequence_parallel_) return;
    ops.push_back(collective("tp_all_gather_grad", CollectiveKind::all_gather, Axis::tp, message_));
}

void TensorParallel::leave_backward(std::vector<Op>& ops) const {
    if (tp_ == 1) return;
    if (!sequence_parallel_) {
        ops.push_back(collective("tp_all_reduce_grad", CollectiveKind::all_reduce, Axis::tp, message_));
        return;
    }
    // The input of the linear is gathered once more for its weight gradient, mostly under the input gradient.
    Op regather = collective("tp_all_gather_again", CollectiveKind::all_gather, Axis::tp, message_);
    regather.exposed_share = regather_share_;
    ops.push_back(regather);
    ops.push_back(collective("tp_reduce_scatter_grad", CollectiveKind::reduce_scatter, Axis::tp, message_));
}

void append_accumulation(const Job& job, std::int64_t parameters, std::vector<Op>& ops) {
    const bool wide = gradient_bytes(job) == 4 && activation_bytes(job.plan.precision) == 2;
    // The runtime's weight gradient products add to fp32 gradients themselves.
    const bool fused = job.software.structure.counts_buffers;
    if (!wide || fused || parameters == 0) return;
    const auto elements = static_cast<double>(parameters);
    ops.push_back(measured(memory("gradient_accumulation", 4.0 * elements, 2.0 * elements)));
}

}  // namespace foreshard
