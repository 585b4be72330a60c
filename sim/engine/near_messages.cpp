#include "sim/engine/near_messages.hpp"

#include <algorithm>
#include <vector>

namespace foreshard {

namespace {

/// Passes of every rank, in order.
std::vector<std::vector<std::int32_t>> passes_of(const TaskGraph& graph) {
    std::vector<std::vector<std::int32_t>> passes(static_cast<std::size_t>(graph.ranks));
    for (const Stream& stream : graph.streams) {
        if (stream.lane != Lane::compute) continue;
        for (std::int32_t id = stream.first; id < stream.last; ++id) {
            if (graph.tasks[static_cast<std::size_t>(id)].kind != TaskKind::pass) continue;
            passes[static_cast<std::size_t>(stream.rank)].push_back(id);
        }
    }
    return passes;
}

/// The last pass that is over at `time`; -1: none is.
std::int32_t pass_before(const std::vector<std::int32_t>& passes, const Timeline& timeline, Picoseconds time) {
    const auto behind =
        std::upper_bound(passes.begin(), passes.end(), time, [&](Picoseconds at, std::int32_t pass) {
            return at < timeline.end[static_cast<std::size_t>(pass)];
        });
    return behind == passes.begin() ? -1 : *std::prev(behind);
}

}  // namespace

void count_near_messages(const TaskGraph& graph, const Timeline& timeline, double ratio, BufferPlan& buffers) {
    const std::vector<std::vector<std::int32_t>> passes = passes_of(graph);
    for (Holding& holding : buffers.holdings) {
        const Task& from = graph.tasks[static_cast<std::size_t>(holding.from)];
        if (holding.kind != HoldingKind::message || from.kind != TaskKind::recv || holding.from_end) continue;
        const Picoseconds comes = timeline.start[static_cast<std::size_t>(holding.from)];
        const auto rank = static_cast<std::size_t>(graph.rank_of(holding.from));
        const std::int32_t pass = pass_before(passes[rank], timeline, comes);
        if (pass < 0 || graph.tasks[static_cast<std::size_t>(pass)].step != from.step) continue;
        const Picoseconds end = timeline.end[static_cast<std::size_t>(pass)];
        const Picoseconds length = end - timeline.start[static_cast<std::size_t>(pass)];
        if (static_cast<double>(comes - end) <= ratio * static_cast<double>(length)) holding.from = pass;
    }
}

}  // namespace foreshard
