#include "runtime/op_spans.hpp"

#include <algorithm>
#include <functional>

namespace foreshard::runtime {

namespace {

std::size_t ops_of(const TaskGraph& graph, const Work& work) {
    const StageOps& stage = graph.stages[static_cast<std::size_t>(work.stage)];
    const std::vector<Unit> units = stage_units(stage);
    std::size_t count = 0;
    for (int unit = work.first_unit; unit < work.first_unit + work.units; ++unit) {
        const OpBlock& block = stage.blocks[static_cast<std::size_t>(units[static_cast<std::size_t>(unit)].block)];
        if (work.pass == Pass::forward) count += block.forward.size();
        if (work.pass == Pass::backward || work.pass == Pass::input_grad) count += block.input_grad.size();
        if (work.pass == Pass::backward || work.pass == Pass::weight_grad) count += block.weight_grad.size();
    }
    return count;
}

}  // namespace

void OpSpans::add(const OpSpan& span, const std::optional<CallSpan>& call) {
    ops.push_back(span);
    if (!call) return;
    ops.back().call = static_cast<std::int32_t>(calls.size());
    calls.push_back(*call);
}

OpIndex::OpIndex(const TaskGraph& graph) {
    for (const StageOps& stage : graph.stages) {
        for (const OpBlock& block : stage.blocks) {
            add(block.forward, Pass::forward);
            add(block.input_grad, Pass::input_grad);
            add(block.weight_grad, Pass::weight_grad);
        }
    }
    std::sort(lists_.begin(), lists_.end(),
              [](const List& a, const List& b) { return std::less<>()(a.first, b.first); });
}

void OpIndex::add(const std::vector<Op>& ops, Pass pass) {
    if (ops.empty()) return;
    lists_.push_back({ops.data(), update()});
    for (const Op& op : ops) ops_.push_back({&op, pass});
}

std::int32_t OpIndex::number_of(const Op* op) const {
    const auto behind = std::upper_bound(lists_.begin(), lists_.end(), op, [](const Op* address, const List& list) {
        return std::less<>()(address, list.first);
    });
    const List& list = *std::prev(behind);
    return list.number + static_cast<std::int32_t>(op - list.first);
}

std::size_t ops_per_run(const TaskGraph& graph, int simulated_rank) {
    std::size_t count = 0;
    for (const Stream& stream : graph.streams) {
        if (stream.rank != simulated_rank) continue;
        for (std::int32_t id = stream.first; id < stream.last; ++id) {
            const Task& task = graph.tasks[static_cast<std::size_t>(id)];
            if (task.kind == TaskKind::pass) count += ops_of(graph, graph.works[static_cast<std::size_t>(task.work)]);
            if (task.kind == TaskKind::optimizer) count += 2;
        }
    }
    return count;
}

}  // namespace foreshard::runtime
