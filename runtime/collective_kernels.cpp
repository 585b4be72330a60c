#include "runtime/unit_run.hpp"

/// Collectives of tensor parallel ranks inside passes.
namespace foreshard::runtime {

namespace {

constexpr Channel tp_channel{Axis::tp, Lane::compute};

void all_reduce(UnitRun& run, Slot slot) {
    time_call(run, [&] {
        return run.rank.transport.all_reduce(tp_channel, run.rank.tp_group, run.elements(slot), Reduction::sum);
    });
}

/// (t, h) of every rank to (T, h).
void all_gather(UnitRun& run, Slot from, Slot to) {
    Buffer all(run.rank.pool, MemoryKind::activations, run.tokens(), run.hidden());
    time_call(run, [&] {
        return run.rank.transport.all_gather(tp_channel, run.rank.tp_group, run.state[from].span(),
                                             {all.span(), all.tensor().type});
    });
    run.state[to] = std::move(all);
}

/// (T, h) to its sum's (t, h), in place of it.
void reduce_scatter(UnitRun& run, Slot slot) {
    Buffer mine(run.rank.pool, MemoryKind::activations, run.shard_tokens(), run.hidden());
    time_call(run, [&] {
        return run.rank.transport.reduce_scatter(tp_channel, run.rank.tp_group, run.elements(slot),
                                                 {mine.span(), mine.tensor().type});
    });
    run.state[slot] = std::move(mine);
}

void gather_input(UnitRun& run) {
    all_gather(run, linear_input(run, forward_half(run)), Slot::gathered);
}

/// For the weight gradient; the rank's own part is not needed any more.
void gather_input_again(UnitRun& run) {
    const int half = backward_half(run);
    all_gather(run, linear_input(run, half), gathered_again(half));
    run.drop(linear_input(run, half));
}

void gather_grad(UnitRun& run) {
    all_gather(run, Slot::grad, kept_grad(backward_half(run)));
}

void reduce_branch(UnitRun& run) {
    all_reduce(run, Slot::branch);
}

void scatter_branch(UnitRun& run) {
    reduce_scatter(run, Slot::branch);
}

void reduce_grad(UnitRun& run) {
    all_reduce(run, Slot::grad_linear);
}

void scatter_grad(UnitRun& run) {
    reduce_scatter(run, Slot::grad_linear);
}

void reduce_embedding(UnitRun& run) {
    if (run.rank.sequence_parallel) {
        reduce_scatter(run, Slot::sum);
    } else {
        all_reduce(run, Slot::sum);
    }
    finish_embedding(run);
}

void gather_embedding_grad(UnitRun& run) {
    embedding_inputs_grad(run);
    all_gather(run, Slot::grad, Slot::grad);
}

constexpr NamedKernel collective_list[] = {
    {"tp_all_gather", gather_input},
    {"tp_all_reduce", reduce_branch},
    {"tp_reduce_scatter", scatter_branch},
    {"tp_all_gather_grad", gather_grad},
    {"tp_all_gather_again", gather_input_again},
    {"tp_all_reduce_grad", reduce_grad},
    {"tp_reduce_scatter_grad", scatter_grad},
    {"tp_embedding_reduce", reduce_embedding},
    {"tp_embedding_gather", gather_embedding_grad},
    {"tp_loss_all_reduce", reduce_loss},
};

}  // namespace

std::span<const NamedKernel> collective_kernels() {
    return collective_list;
}

}  // namespace foreshard::runtime
