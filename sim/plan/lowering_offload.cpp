#include <cassert>
#include <map>
#include <tuple>

#include "sim/plan/lowering.hpp"

/// Part of lowering: saved tensors of layers that wait on the host from forward to backward. A copy stream for each
/// direction, as in Transformer Engine's cpu_offload.py and torchtune's OffloadActivations; PipeOffload
/// (arXiv 2503.01328) does the same inside pipelines. Layers are copied one by one through two buffers in each
/// direction: a forward waits until no more than two layers are on their way out, and a reload until no more than two
/// are back and not yet used.
namespace foreshard {

namespace {

bool uses_saved_tensors(Pass pass) {
    return pass == Pass::backward || pass == Pass::input_grad;
}

}  // namespace

void Lowering::find_offloaded() {
    if (!sync_ || job_.plan.offload_activation_layers == 0) return;
    for (const StageOps& stage : graph_.stages) {
        offloaded_.push_back(leaving_bytes(stage, job_.plan.offload_activation_layers));
    }
}

/// Every layer that leaves is a task of its own; its neighbours that stay are one. Returns the last task.
std::int32_t Lowering::add_cut_pass(int step, const Action& action, const Work& work) {
    const bool forward = action.pass == Pass::forward;
    if (offloaded_.empty() || (!forward && !uses_saved_tensors(action.pass))) {
        add_pass(step, action, work);
        return static_cast<std::int32_t>(graph_.tasks.size()) - 1;
    }
    const std::vector<ByteCount>& bytes = offloaded_[static_cast<std::size_t>(work.stage)];
    const auto leaves = [&](std::int32_t unit) { return bytes[static_cast<std::size_t>(unit)] > 0; };
    for (std::int32_t done = 0; done < work.units;) {
        std::int32_t units = 1;
        const auto at = [&](std::int32_t place) {
            return forward ? work.first_unit + place : work.first_unit + work.units - 1 - place;
        };
        while (!leaves(at(done)) && done + units < work.units && !leaves(at(done + units))) ++units;
        Work part = work;
        part.first_unit = forward ? at(done) : at(done + units - 1);
        part.units = units;
        add_pass(step, action, part);
        done += units;
    }
    return static_cast<std::int32_t>(graph_.tasks.size()) - 1;
}

/// Bytes that a forward sends to the host, or that a backward needs from there.
ByteCount Lowering::offloaded_by(const Task& task) const {
    if (task.kind != TaskKind::pass || (task.pass != Pass::forward && !uses_saved_tensors(task.pass))) return 0;
    const Work& work = graph_.works[static_cast<std::size_t>(task.work)];
    const std::vector<ByteCount>& bytes = offloaded_[static_cast<std::size_t>(work.stage)];
    if (work.units == 1) return bytes[static_cast<std::size_t>(work.first_unit)];
    for (std::int32_t u = 0; u < work.units; ++u) assert(bytes[static_cast<std::size_t>(work.first_unit + u)] == 0);
    return 0;
}

/// A copy of what the pass saved, on the stream at hand.
std::int32_t Lowering::add_copy(TaskKind kind, std::int32_t pass) {
    const Task of = graph_.tasks[static_cast<std::size_t>(pass)];
    const std::int32_t id = add_task(kind, of.step);
    Task& copy = graph_.tasks[static_cast<std::size_t>(id)];
    copy.stage = of.stage;
    copy.microbatch = of.microbatch;
    copy.pass = of.pass;
    const auto bytes = static_cast<double>(offloaded_by(of));
    add_comm(id, comm_class({CollectiveKind::send_recv, Axis::host, Bytes(bytes), 0, 0}));
    return id;
}

void Lowering::add_offload_streams(const Stream& compute) {
    std::vector<std::int32_t> forwards;
    std::vector<std::int32_t> backwards;
    for (std::int32_t id = compute.first; id < compute.last; ++id) {
        const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
        if (offloaded_by(task) > 0) (task.pass == Pass::forward ? forwards : backwards).push_back(id);
    }
    using Layer = std::tuple<std::uint16_t, std::int32_t, std::int32_t, std::int32_t>;
    const auto layer = [&](std::int32_t pass) {
        const Task& task = graph_.tasks[static_cast<std::size_t>(pass)];
        return Layer{task.step, task.stage, task.microbatch,
                     graph_.works[static_cast<std::size_t>(task.work)].first_unit};
    };
    std::map<Layer, std::int32_t> copies;
    begin_stream(compute.rank, Lane::offload, -1);
    for (std::size_t i = 0; i < forwards.size(); ++i) {
        const std::int32_t copy = add_copy(TaskKind::offload, forwards[i]);
        need(copy, forwards[i]);
        if (i >= offload_buffers) {
            need(forwards[i], copy - static_cast<std::int32_t>(offload_buffers));
        }
        copies[layer(forwards[i])] = copy;
    }
    begin_stream(compute.rank, Lane::reload, -1);
    for (std::size_t i = 0; i < backwards.size(); ++i) {
        const std::int32_t copy = add_copy(TaskKind::reload, backwards[i]);
        const std::int32_t out = copies.at(layer(backwards[i]));
        need(copy, out);
        need(backwards[i], copy);
        if (i >= offload_buffers) need(copy, backwards[i - offload_buffers]);
        const Task& task = graph_.tasks[static_cast<std::size_t>(backwards[i])];
        graph_.offloaded.push_back({out, copy, task.stage, offloaded_by(task)});
    }
}

}  // namespace foreshard
