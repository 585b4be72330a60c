#include "sim/cost/durations.hpp"

#include <algorithm>

namespace foreshard {

namespace {

WorkDuration round(const PassTime& time) {
    return {{to_picoseconds(time.compute), to_picoseconds(time.recompute), to_picoseconds(time.tp),
             to_picoseconds(time.cp), to_picoseconds(time.ep), to_picoseconds(time.host)}};
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

CommTime comm_time(const Job& job, const NetworkModel& network, const CommClass& comm) {
    if (comm.kind == CollectiveKind::send_recv) {
        return network.send_recv(comm.message, share_domain(job, comm.from_rank, comm.to_rank));
    }
    const GroupPlacement group = comm.axis == Axis::replica ? pair_placement(job, comm.from_rank, comm.to_rank)
                                                            : group_placement(job, comm.axis);
    return network.collective(comm.kind, comm.message, group);
}

}  // namespace

double optimizer_parameters(const Job& job, const TaskGraph& graph, int rank) {
    double dense = 0.0;
    double expert = 0.0;
    for (const int stage : graph.rank_stages[static_cast<std::size_t>(rank)]) {
        dense += static_cast<double>(graph.stages[static_cast<std::size_t>(stage)].parameters());
        expert += static_cast<double>(graph.stages[static_cast<std::size_t>(stage)].expert_parameters());
    }
    if (!shards_optimizer(job.plan)) return dense + expert;
    return dense / (job.plan.dp * job.plan.cp) + expert / expert_data_parallel(job);
}

Durations durations(const Job& job, const TaskGraph& graph, const CostModel& cost, const NetworkModel& network) {
    const PassTimer timer(job, cost, network);
    const std::vector<std::vector<BlockTimes>> blocks = time_blocks(graph, timer);
    Durations result;
    for (const Work& work : graph.works) {
        PassTime time;
        if (work.kind == TaskKind::pass) {
            const auto stage = static_cast<std::size_t>(work.stage);
            time = sum_units(graph.stages[stage], blocks[stage], work);
        } else if (work.kind == TaskKind::optimizer) {
            const Bytes moved(job.software.numbers.optimizer_bytes_per_parameter *
                              optimizer_parameters(job, graph, work.stage));
            time.compute = cost.stream(moved).seconds;
        } else {
            time.host = job.software.numbers.step_overhead;
        }
        result.works.push_back(round(time));
    }
    for (const CommClass& comm : graph.comm_classes) {
        const CommTime time = comm_time(job, network, comm);
        result.comms.push_back({to_picoseconds(time.busy), to_picoseconds(time.latency)});
        result.limits.push_back(time.limit);
    }
    return result;
}

PassCosts pass_costs(const Job& job, const CostModel& cost, const NetworkModel& network) {
    const PassTimer timer(job, cost, network);
    PassCosts costs;
    for (const StageOps& stage : build_stage_ops(job, stage_layout(job))) {
        PassTime forward;
        PassTime input_grad;
        PassTime weight_grad;
        for (const OpBlock& block : stage.blocks) {
            const BlockTimes times = timer.time(block);
            forward += times.forward * block.repeat;
            input_grad += times.input_grad * block.repeat;
            weight_grad += times.weight_grad * block.repeat;
        }
        costs.stages.push_back({round(forward).total(), round(input_grad).total(), round(weight_grad).total()});
    }
    for (int rank = 1; rank < job.plan.pp; ++rank) {
        const CommTime time = network.send_recv(boundary_message(job), share_domain(job, rank - 1, rank));
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
        const StageTimes::Stage& stage = times.stages[static_cast<std::size_t>(work.stage)];
        WorkDuration duration;
        Picoseconds& compute = duration.spent[static_cast<std::size_t>(Spent::compute)];
        switch (work.pass) {
            case Pass::forward:
                compute = stage.forward;
                break;
            case Pass::backward:
                compute = stage.input_grad + stage.weight_grad;
                break;
            case Pass::input_grad:
                compute = stage.input_grad;
                break;
            case Pass::weight_grad:
                compute = stage.weight_grad;
                break;
        }
        result.works.push_back(duration);
    }
    result.comms.assign(graph.comm_classes.size(), {0, times.hop});
    result.limits.assign(graph.comm_classes.size(), "hop of the stage times");
    return result;
}

}  // namespace foreshard
