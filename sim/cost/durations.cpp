#include "sim/cost/durations.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/cost/rank_waits.hpp"
#include "sim/spec/calibration.hpp"

namespace foreshard {

namespace {

WorkDuration round(const PassTime& time) {
    return {{to_picoseconds(time.compute), to_picoseconds(time.recompute), to_picoseconds(time.tp),
             to_picoseconds(time.cp), to_picoseconds(time.ep), to_picoseconds(time.host), 0, 0}};
}

WorkShares shares_of(const PassTime& time) {
    const Seconds whole = time.device() + time.host;
    if (!(whole > Seconds(0.0))) return {};
    return {(time.compute + time.recompute) / whole, time.memory / whole, time.nvlink / whole, time.nic / whole};
}

const PassTime& of_pass(const BlockTimes& times, Pass pass) {
    switch (pass) {
        case Pass::forward:
            return times.forward;
        case Pass::backward:
            return times.backward;
        case Pass::input_grad:
            return times.input_grad;
        case Pass::weight_grad:
            return times.weight_grad;
        case Pass::vocab_forward:
            return times.forward;
        case Pass::vocab_backward:
            return times.backward;
    }
    return times.forward;
}

/// Times of every block of every stage; equal neighbours are computed once.
std::vector<std::vector<BlockTimes>> time_blocks(const TaskGraph& graph, const PassTimer& timer) {
    std::vector<std::vector<BlockTimes>> times;
    for (const StageOps& stage : graph.stages) {
        times.emplace_back();
        for (const OpBlock& block : stage.blocks) times.back().push_back(timer.time(block));
    }
    return times;
}

PassTime sum_units(const StageOps& stage, const std::vector<BlockTimes>& times, const Work& work) {
    PassTime total;
    int begin = 0;
    for (std::size_t b = 0; b < stage.blocks.size(); ++b) {
        const int end = begin + stage.blocks[b].repeat;
        const int inside = std::min(end, work.first_unit + work.units) - std::max(begin, work.first_unit);
        if (inside > 0) total += of_pass(times[b], work.pass) * inside;
        begin = end;
    }
    return total;
}

/// Communication beside a pass takes SMs and memory bandwidth from it: of two that overlap, the shorter's time counts
/// again by the profile's ratio (arXiv 2507.03114 measures 19 % on average, up to 40 %).
Picoseconds contention(double ratio, const Work& work, const WorkDuration& duration,
                       const std::vector<CommDuration>& comms) {
    Picoseconds beside = 0;
    for (const std::int32_t comm : work.under) {
        if (comm >= 0) beside += comms[static_cast<std::size_t>(comm)].busy;
    }
    return std::llround(ratio * static_cast<double>(std::min(duration.total(), beside)));
}

/// DeepSpeed's ZeRO-3 gathers parameter by parameter, and reaches less of the NICs between nodes.
double zero3_slowdown(const Job& job, const CommClass& comm) {
    const ProfileNumbers& numbers = job.software.numbers;
    const bool sharded = shards_parameters(job.plan) && !is_fsdp(job.plan.data_parallel);
    const bool ours = comm.axis == Axis::dp || comm.axis == Axis::dp_shard;
    if (!sharded || !ours || numbers.zero3_network_ratio <= 0.0) return 1.0;
    if (group_placement(job, comm.axis).domains == 1) return 1.0;
    return numbers.network_bandwidth_ratio / numbers.zero3_network_ratio;
}

/// One broadcast after the other: each has its start.
Seconds many_parts(const Job& job, const CommClass& comm) {
    return comm.parts > 1 ? job.software.numbers.broadcast_latency * comm.parts : Seconds(0.0);
}

/// Gradients go to the host, updated weights come back (unless they stay there); nothing overlaps.
Seconds offloaded_update(const Job& job, double parameters) {
    const int weights = job.plan.offload_parameters ? 0 : activation_bytes(job.plan.precision);
    const double moved = parameters * (gradient_bytes(job) + weights);
    const double on_host = parameters * std::min(job.cluster.gpus_per_node, job.gpus);
    return Seconds(moved / host_link(job.cluster.device).value + on_host / host_adam_parameters_per_second);
}

/// Each direction has the link to itself.
CommTime host_copy(const Job& job, Bytes message) {
    return {message / host_link(job.cluster.device), Seconds(0.0), "link to the host", Seconds(0.0)};
}

/// A rank's shard of what is gathered comes from the host first, on the same stream (DeepSpeed
/// partition_parameters.py: ds_tensor.to(device) in front of the all-gather).
Seconds fetched_shard(const Job& job, const CommClass& comm) {
    const bool ours = comm.axis == Axis::dp || comm.axis == Axis::dp_shard;
    if (!job.plan.offload_parameters || comm.kind != CollectiveKind::all_gather || !ours) return Seconds(0.0);
    return comm.message * (1.0 / shard_size(job.plan)) / host_link(job.cluster.device);
}

bool shares_domain(const Job& job, const RankPlace& a, const RankPlace& b) {
    return a.replica < 0 ? share_domain(job, a.pp, b.pp) : share_domain(job, a.pp, b.pp, a.replica);
}

Picoseconds given_duration(const StageTimes& times, const Work& work) {
    if (work.pass == Pass::vocab_forward) return times.vocab_forward;
    if (work.pass == Pass::vocab_backward) return times.vocab_backward;
    const StageTimes::Stage& stage = times.stages[static_cast<std::size_t>(work.stage)];
    switch (work.pass) {
        case Pass::forward:
            return stage.forward;
        case Pass::backward:
            return stage.input_grad + stage.weight_grad;
        case Pass::input_grad:
            return stage.input_grad;
        case Pass::weight_grad:
            return stage.weight_grad;
        case Pass::vocab_forward:
        case Pass::vocab_backward:
            break;
    }
    return 0;
}

/// Who waits for a communication goes on a little after its end.
CommTime with_wakeup(const Job& job, CommTime time) {
    if (job.calibration != nullptr) time.latency += job.calibration->wakeup.value_or(Seconds(0.0));
    return time;
}

CommTime comm_time(const Job& job, const NetworkModel& network, const CommClass& comm, bool local) {
    if (comm.kind == CollectiveKind::send_recv) return with_wakeup(job, network.send_recv(comm.message, local));
    return with_wakeup(job, network.collective(comm.kind, comm.message, group_placement(job, comm.axis)));
}

CommDuration round(const CommTime& time) {
    return {to_picoseconds(time.busy), to_picoseconds(time.latency), to_picoseconds(time.wire), time.blocks};
}

/// Groups of one axis and equal messages occur once a pipeline rank or replica; their times are computed once.
class CommTimer {
public:
    CommTimer(const Job& job, const TaskGraph& graph, const NetworkModel& network)
        : job_(job), graph_(graph), network_(network) {}

    const CommTime& time(const CommClass& comm) {
        if (comm.axis == Axis::host) return known(comm, true, [&] { return host_copy(job_, comm.message); });
        const bool message = comm.kind == CollectiveKind::send_recv;
        if (!message && comm.axis != Axis::replica) {
            return known(comm, false, [&] { return comm_time(job_, network_, comm, false); });
        }
        const RankPlace& from = graph_.places[static_cast<std::size_t>(comm.from_rank)];
        const RankPlace& to = graph_.places[static_cast<std::size_t>(comm.to_rank)];
        const bool local = shares_domain(job_, from, to);
        if (message) return known(comm, local, [&] { return comm_time(job_, network_, comm, local); });
        const GroupPlacement pair{2, local ? 2 : 1, local ? 1 : 2};
        return known(comm, local,
                     [&] { return with_wakeup(job_, network_.collective(comm.kind, comm.message, pair)); });
    }

private:
    template <class Compute>
    const CommTime& known(const CommClass& comm, bool local, Compute compute) {
        const auto key = std::tuple(comm.kind, comm.axis, comm.message.value, local);
        const auto found = times_.find(key);
        return found != times_.end() ? found->second : times_.emplace(key, compute()).first->second;
    }

    const Job& job_;
    const TaskGraph& graph_;
    const NetworkModel& network_;
    std::map<std::tuple<CollectiveKind, Axis, double, bool>, CommTime> times_;
};

}  // namespace

WorkDuration whole_pass(const StageOps& stage, const std::vector<BlockTimes>& blocks, Pass pass, Seconds overhead) {
    const auto units = static_cast<std::int32_t>(stage_units(stage).size());
    PassTime time = sum_units(stage, blocks, {TaskKind::pass, 0, pass, 0, units});
    time.host += overhead;
    return round(time);
}

Seconds pass_overhead(const Job& job) {
    const bool measured = job.calibration != nullptr && job.calibration->pass_overhead;
    return job.plan.pp > 1 || measured ? job.software.numbers.pass_overhead : Seconds(0.0);
}

CommDuration comm_duration(const Job& job, const NetworkModel& network, const CommClass& comm) {
    const bool local = comm.kind == CollectiveKind::send_recv && share_domain(job, comm.from_rank, comm.to_rank);
    return round(comm_time(job, network, comm, local));
}

BytesPerSecond host_link(const DeviceSpec& device) {
    return device.host_link.value > 0.0 ? device.host_link : assumed_host_link;
}

double optimizer_parameters(const Job& job, const TaskGraph& graph, int rank) {
    double dense = 0.0;
    double expert = 0.0;
    for (const int stage : graph.rank_stages[static_cast<std::size_t>(rank)]) {
        dense += static_cast<double>(graph.stages[static_cast<std::size_t>(stage)].parameters());
        expert += static_cast<double>(graph.stages[static_cast<std::size_t>(stage)].expert_parameters());
    }
    if (uses_parameter_server(job.plan) && job.plan.dp > 1) return 0.0;  // the server does
    if (!shards_optimizer(job.plan)) return dense + expert;
    const int shards = shard_size(job.plan);
    return dense / shards + expert / std::min(shards, expert_data_parallel(job));
}

Durations durations(const Job& job, const TaskGraph& graph, const CostModel& cost, const NetworkModel& network) {
    const PassTimer timer(job, cost, network);
    const std::vector<std::vector<BlockTimes>> blocks = time_blocks(graph, timer);
    Durations result;
    for (const Work& work : graph.works) {
        PassTime time;
        Seconds offloaded;
        if (work.kind == TaskKind::pass) {
            const auto stage = static_cast<std::size_t>(work.stage);
            time = sum_units(graph.stages[stage], blocks[stage], work);
            // A pass that is cut for gradient buckets pays it once.
            const bool of_stage = work.pass != Pass::vocab_forward && work.pass != Pass::vocab_backward;
            if (of_stage && work.first_unit == 0) time.host += pass_overhead(job);
        } else if (work.kind == TaskKind::optimizer && job.plan.offload_optimizer) {
            offloaded = offloaded_update(job, optimizer_parameters(job, graph, work.stage));
        } else if (work.kind == TaskKind::optimizer) {
            const double parameters = optimizer_parameters(job, graph, work.stage);
            const Bytes moved(job.software.numbers.optimizer_bytes_per_parameter * parameters);
            time.compute = time.memory = cost.optimizer(parameters, moved).seconds;
        } else {
            time.host = job.software.numbers.step_overhead;
        }
        result.works.push_back(round(time));
        result.works.back().spent[static_cast<std::size_t>(Spent::offload)] = to_picoseconds(offloaded);
        result.shares.push_back(shares_of(time));
        result.traffic.push_back({time.tp_bytes.value, time.cp_bytes.value, time.ep_bytes.value});
    }
    const RankWaits waits = rank_waits(job, graph, result.works);
    for (std::size_t i = 0; i < graph.works.size(); ++i) {
        if (graph.works[i].kind != TaskKind::step_end) continue;
        result.works[i].spent[static_cast<std::size_t>(Spent::exposed_dp)] = to_picoseconds(waits.step);
    }
    CommTimer comm_timer(job, graph, network);
    for (const CommClass& comm : graph.comm_classes) {
        const CommTime& time = comm_timer.time(comm);
        const double share = 1.0 / comm.every;
        const Seconds busy =
            (time.busy * zero3_slowdown(job, comm) + many_parts(job, comm) + fetched_shard(job, comm)) * share;
        const Seconds waiting = comm.axis == Axis::pp ? waits.message : Seconds(0.0);
        result.comms.push_back({to_picoseconds(comm.wait + busy), to_picoseconds(time.latency * share + waiting),
                                to_picoseconds(time.wire * share), time.blocks});
        result.limits.push_back(time.limit);
    }
    // Full contention is simulated.
    if (job.plan.contention == Contention::full) return result;
    for (std::size_t i = 0; i < graph.works.size(); ++i) {
        result.works[i].spent[static_cast<std::size_t>(Spent::exposed_dp)] +=
            contention(job.software.numbers.dp_contention_ratio, graph.works[i], result.works[i], result.comms);
    }
    return result;
}

PassCosts pass_costs(const Job& job, const CostModel& cost, const NetworkModel& network) {
    const PassTimer timer(job, cost, network);
    PassCosts costs;
    for (const StageOps& stage : build_stage_ops(job, stage_layout(job))) {
        std::vector<BlockTimes> blocks;
        for (const OpBlock& block : stage.blocks) blocks.push_back(timer.time(block));
        const auto total = [&](Pass pass) { return whole_pass(stage, blocks, pass, pass_overhead(job)).total(); };
        costs.stages.push_back({total(Pass::forward), total(Pass::input_grad), total(Pass::weight_grad)});
    }
    if (vocabulary_shares(job.plan) > 1) {
        // The entry behind the stages is a rank's share of the vocabulary.
        const StageTimes::Stage& share = costs.stages.back();
        const Picoseconds overhead = to_picoseconds(pass_overhead(job));
        costs.vocab_forward = share.forward - overhead;
        costs.vocab_backward = share.input_grad + share.weight_grad - 2 * overhead;
        costs.stages.pop_back();
    }
    for (int rank = 1; rank < job.plan.pp; ++rank) {
        const CommTime time = network.send_recv(pipeline_message(job), share_domain(job, rank - 1, rank));
        costs.hop = std::max(costs.hop, to_picoseconds(time.total()));
    }
    if (!job.plan.overlap_p2p.value_or(job.software.structure.overlap_p2p)) {
        // A rank is held up until its message has arrived.
        for (StageTimes::Stage& stage : costs.stages) {
            stage.forward += costs.hop;
            stage.input_grad += costs.hop;
        }
        costs.hop = 0;
    }
    return costs;
}

Durations given_durations(const StageTimes& times, const TaskGraph& graph) {
    Durations result;
    for (const Work& work : graph.works) {
        WorkDuration duration;
        duration.spent[static_cast<std::size_t>(Spent::compute)] = given_duration(times, work);
        result.works.push_back(duration);
    }
    result.shares.assign(graph.works.size(), {});
    result.traffic.assign(graph.works.size(), {});
    result.comms.assign(graph.comm_classes.size(), {0, times.hop});
    result.limits.assign(graph.comm_classes.size(), "hop of the stage times");
    return result;
}

}  // namespace foreshard
