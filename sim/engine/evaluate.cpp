#include "sim/engine/evaluate.hpp"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "sim/cost/calibrated.hpp"
#include "sim/cost/nccl_network.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/op_graph.hpp"
#include "sim/plan/schedules.hpp"
#include "sim/spec/schedule_kinds.hpp"

namespace foreshard {

namespace {

Durations cost_of(const Job& job, const TaskGraph& graph) {
    if (job.stage_times) return given_durations(*job.stage_times, graph);
    const CalibratedCost cost(job.cluster.device, job.software, job.plan.precision);
    const NcclNetwork network(job.cluster, job.software);
    return durations(job, graph, cost, network);
}

/// Messages and collectives between tasks.
void append_task_communication(const Evaluation& e, std::vector<CommReport>& all) {
    for (std::size_t i = 0; i < e.graph.comm_classes.size(); ++i) {
        const CommClass& comm = e.graph.comm_classes[i];
        const bool pair = comm.axis == Axis::pp || comm.axis == Axis::embedding || comm.axis == Axis::replica;
        const GroupPlacement group = pair ? GroupPlacement{2, 1, 1} : group_placement(e.job, comm.axis);
        const CommDuration& time = e.durations.comms[i];
        all.push_back({std::string(to_string(comm.axis)), std::string(to_string(comm.kind)), pair ? comm.from_rank : -1,
                       pair ? comm.to_rank : -1, group.size, group.domains, comm.message.value,
                       static_cast<double>(time.busy + time.latency) / 1e6, e.durations.limits[i]});
    }
}

bool lists(const std::vector<CommReport>& all, const Op& op) {
    return std::any_of(all.begin(), all.end(), [&](const CommReport& known) {
        return known.axis == to_string(op.axis) && known.collective == to_string(op.collective) &&
               known.message_bytes == op.message.value;
    });
}

/// Tensor, context and expert parallel collectives run inside passes; listed per distinct message, with the time on
/// idle links (what a pass is charged is scaled by the profile's factors).
void append_collectives(const Job& job, const std::vector<Op>& ops, const NetworkModel& network,
                        std::vector<CommReport>& all) {
    for (const Op& op : ops) {
        if (op.kind != OpKind::collective || lists(all, op)) continue;
        const GroupPlacement group = group_placement(job, op.axis);
        const CommTime time = network.collective(op.collective, op.message, group);
        all.push_back({std::string(to_string(op.axis)), std::string(to_string(op.collective)), -1, -1, group.size,
                       group.domains, op.message.value, time.total().value * 1e6, time.limit});
    }
}

void append_pass_communication(const Evaluation& e, const NetworkModel& network, std::vector<CommReport>& all) {
    for (const StageOps& stage : e.graph.stages) {
        for (const OpBlock& block : stage.blocks) {
            append_collectives(e.job, block.forward, network, all);
            append_collectives(e.job, block.input_grad, network, all);
            append_collectives(e.job, block.weight_grad, network, all);
        }
    }
}

std::vector<CommReport> communication(const Evaluation& e) {
    std::vector<CommReport> all;
    if (!e.job.stage_times) append_pass_communication(e, NcclNetwork(e.job.cluster, e.job.software), all);
    append_task_communication(e, all);
    return all;
}

/// What the schedule's kind implies, in words.
std::vector<std::string> schedule_assumptions(const Job& job) {
    if (job.schedule_file) return {};
    const ParallelPlan& plan = job.plan;
    const ScheduleTraits& traits = traits_of(plan.schedule);
    std::vector<std::string> notes;
    if (plan.schedule == ScheduleKind::pipedream) {
        notes.push_back(
            fmt::format("pipedream: an update after every backward; gradients of rank r are {}-r updates "
                        "old, and it holds {}-r versions of its weights",
                        plan.pp - 1, plan.pp));
    }
    if (plan.schedule == ScheduleKind::pipedream_2bw) {
        notes.push_back(
            fmt::format("pipedream-2bw: an update after every {} micro-batches, with gradients one update "
                        "old; two versions of the weights",
                        microbatch_count(job)));
    }
    if (traits.asynchronous) notes.emplace_back("no flush: the step time is that of a global batch in steady state");
    if (traits.asynchronous && job.model.tied_embeddings) {
        notes.emplace_back("embedding and output matrix are not tied: ranks update on their own");
    }
    if (traits.split_backward && plan.skew_steps == 0) {
        notes.emplace_back(
            "the step is the makespan; where ranks may start the next step on their own: --skew-steps 3");
    }
    return notes;
}

/// Assumptions that the model makes for every job, in words.
std::vector<std::string> model_assumptions(const Job& job) {
    if (job.stage_times) return {"all pass times are given; optimizer, gradient sync and per-step work are left out"};
    const DeviceSpec& device = job.cluster.device;
    const ProfileNumbers& numbers = job.software.numbers;
    const bool measured = device.kernels && activation_bytes(job.plan.precision) == 2;
    std::vector<std::string> notes = {
        measured ? fmt::format("GEMMs and attention by the measured kernels of {}, GEMM time x {:.2f}",
                               device.kernels->id, numbers.gemm_time_factor)
                 : fmt::format("no kernel table for {} in {}: GEMMs at {:.2f} of the peak", device.id,
                               to_string(job.plan.precision), device.gemm_ratio / numbers.gemm_time_factor),
        fmt::format("memory-bound kernels at {:.2f} of the bandwidth of {}",
                    device.memory_ratio / numbers.memory_time_factor, device.id),
        "links are free of contention; all replicas run at the same speed"};
    if (job.plan.cp > 1) notes.emplace_back("context parallel ranks share causal attention evenly; KV moves under it");
    if (job.model.moe) notes.emplace_back("tokens are routed to experts evenly, none is dropped");
    if (job.cluster.fits.empty() && job.gpus > 1) {
        notes.push_back("no measured collectives for " + job.cluster.id + ": NCCL's own model");
    }
    return notes;
}

}  // namespace

Schedule schedule_of(const Job& job) {
    if (!follows_times(job) || job.stage_times) return make_schedule(job);
    const CalibratedCost cost(job.cluster.device, job.software, job.plan.precision);
    const PassCosts costs = pass_costs(job, cost, NcclNetwork(job.cluster, job.software));
    return make_schedule(job, costs, split_memory(job, build_stage_ops(job, stage_layout(job))));
}

Evaluation evaluate(const Job& job) {
    assert(check(job).empty());
    Evaluation e;
    e.job = job;
    e.schedule = schedule_of(job);
    e.graph = lower(job, e.schedule);
    e.buffers = plan_buffers(job, e.graph);
    e.durations = cost_of(job, e.graph);
    e.timeline = simulate(e.graph, e.durations);
    e.report = make_report(job, e.graph, e.buffers, e.timeline);
    e.report.communication = communication(e);
    for (std::string& note : schedule_assumptions(job)) e.report.assumptions.push_back(std::move(note));
    for (std::string& note : model_assumptions(job)) e.report.assumptions.push_back(std::move(note));
    return e;
}

}  // namespace foreshard
