#include "sim/engine/data_parallel_times.hpp"

#include <algorithm>
#include <cmath>

#include "sim/engine/simulator.hpp"
#include "sim/plan/data_parallel/horovod.hpp"

namespace foreshard {

namespace {

/// Coordination with a warm response cache: a bitwise AND over all ranks by MPI or Gloo, log2(ranks) hops of a TCP
/// round trip (horovod/common/controller.cc, CoordinateCacheAndState).
constexpr double negotiation_hop_s = 50e-6;

/// A message is copied into the fusion buffer and out again: four passes over device memory.
constexpr double fusion_passes = 4.0;

/// When each part of the last backward of the stage ends, from the backward's start. Its tasks run from the last unit
/// to the first; a part may be several of them.
std::vector<Seconds> part_ends(const TaskGraph& graph, const Timeline& timeline,
                               const std::vector<StageBuckets::Part>& parts) {
    std::vector<std::size_t> last;
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
        const Task& task = graph.tasks[i];
        if (task.kind != TaskKind::pass || task.pass == Pass::forward) continue;
        if (!last.empty() && graph.tasks[last.back()].microbatch != task.microbatch) last.clear();
        last.push_back(i);
    }
    std::vector<Seconds> ends;
    ends.reserve(parts.size());
    std::size_t at = 0;
    for (const StageBuckets::Part& part : parts) {
        while (graph.works[static_cast<std::size_t>(graph.tasks[last[at]].work)].first_unit > part.first_unit) ++at;
        ends.emplace_back(static_cast<double>(timeline.end[last[at]] - timeline.start[last.front()]) /
                          picoseconds_per_second);
    }
    return ends;
}

/// Rounds as reductions behind the part that completes them.
StageBuckets as_buckets(const StageBuckets& single, const std::vector<Seconds>& ends,
                        const std::vector<HorovodRound>& rounds, int element_bytes) {
    StageBuckets fused{single.parts, {}};
    Seconds free;
    for (const HorovodRound& round : rounds) {
        const std::int32_t part = single.reduces[static_cast<std::size_t>(round.first_tensor + round.tensors - 1)].part;
        const Seconds could_start = std::max(ends[static_cast<std::size_t>(part)], free);
        fused.reduces.push_back({static_cast<double>(round.bytes) / element_bytes, part,
                                 Seconds(std::max(round.start.value - could_start.value, 0.0))});
        free = round.end;
    }
    return fused;
}

bool is_pull(const Task& task) {
    return task.kind == TaskKind::param_gather;
}

/// Sizes of the messages, and who is slow: the learner's link or the servers'.
AsyncSgdOptions server_options(const Job& job, const TaskGraph& graph, Picoseconds compute) {
    const ParallelPlan& plan = job.plan;
    const auto parameters = static_cast<double>(graph.stages.front().parameters());
    const LinkSpec& link = job.cluster.inter_node ? *job.cluster.inter_node : job.cluster.intra_node;
    const BytesPerSecond own = link.bandwidth * job.software.numbers.network_bandwidth_ratio;
    const BytesPerSecond host = own * std::max(job.cluster.gpus_per_node, 1);
    const double servers = plan.parameter_servers;
    const Bytes message(parameters * gradient_bytes(job));
    AsyncSgdOptions options;
    options.learners = plan.dp;
    options.barrier = plan.data_parallel == DataParallelKind::parameter_server;
    options.gradients_per_update = options.barrier ? plan.dp : std::max(plan.dp / plan.softsync, 1);
    options.compute = compute;
    options.pull = options.push = to_picoseconds(message / own + link.latency);
    options.serve = to_picoseconds(message / (host * servers));
    options.apply = to_picoseconds(
        Seconds(parameters * job.software.numbers.optimizer_bytes_per_parameter / (servers * host_bytes_per_second)));
    return options;
}

}  // namespace

std::vector<StageBuckets> fused_buckets(const Job& job, const Schedule& schedule, const CostModel& cost,
                                        const NetworkModel& network) {
    const GroupPlacement group = group_placement(job, Axis::dp);
    if (job.plan.data_parallel != DataParallelKind::horovod || group.size == 1) return {};
    const TaskGraph shape = lower(job, schedule);
    const StageOps& stage = shape.stages.front();
    const std::vector<GradientTensor> tensors = gradients_in_ready_order(job, stage);
    const auto units = static_cast<std::int32_t>(stage_units(stage).size());
    const std::vector<StageBuckets> single = {stage_buckets(fill_buckets(tensors, 1.0, 1.0), units)};
    const TaskGraph dry = lower(job, schedule, single);
    const Timeline timeline = simulate(dry, durations(job, dry, cost, network));
    const std::vector<Seconds> ends = part_ends(dry, timeline, single.front().parts);

    std::vector<ReadyTensor> ready;
    const int element = gradient_bytes(job);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto part = static_cast<std::size_t>(single.front().reduces[i].part);
        ready.push_back({ends[part], tensors[i].elements * element});
    }
    const HorovodOptions options{
        Seconds(job.plan.cycle_time_ms * 1e-3), std::llround(job.plan.fusion_threshold_mb * 1e6),
        Seconds(negotiation_hop_s * std::ceil(std::log2(group.size))), Seconds(job.plan.cycle_time_ms * 0.5e-3)};
    const BytesPerSecond memory = job.cluster.device.memory_bandwidth * job.cluster.device.memory_ratio;
    const auto reduce = [&](std::int64_t bytes) {
        const Bytes message(static_cast<double>(bytes));
        return network.collective(CollectiveKind::all_reduce, message, group).total() +
               message * fusion_passes / memory;
    };
    return {as_buckets(single.front(), ends, horovod_rounds(ready, options, reduce), element)};
}

std::optional<AsyncSgdResult> serve_learners(const Job& job, const TaskGraph& graph, Durations& durations) {
    if (!uses_parameter_server(job.plan) || job.stage_times || job.plan.dp == 1) return std::nullopt;
    for (std::size_t c = 0; c < durations.comms.size(); ++c) {
        if (graph.comm_classes[c].axis != Axis::host) durations.comms[c] = {0, 0};
    }
    const Picoseconds compute = simulate(graph, durations).step_time();
    const AsyncSgdResult result = simulate_async_sgd(server_options(job, graph, compute));
    const double cycle = job.plan.dp / result.gradients_per_s;
    const Picoseconds exposed = std::max(to_picoseconds(Seconds(cycle)) - compute, Picoseconds{0});
    for (const Task& task : graph.tasks) {
        if (task.kind != TaskKind::param_gather && task.kind != TaskKind::grad_reduce) continue;
        const auto known = static_cast<std::size_t>(graph.comms[static_cast<std::size_t>(task.comm)].comm_class);
        durations.comms[known].busy = is_pull(task) ? exposed / 2 : exposed - exposed / 2;
        durations.limits[known] = "queue of the parameter server";
    }
    return result;
}

}  // namespace foreshard
