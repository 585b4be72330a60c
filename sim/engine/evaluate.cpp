#include "sim/engine/evaluate.hpp"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "sim/cost/calibrated.hpp"
#include "sim/cost/nccl_network.hpp"
#include "sim/engine/balance.hpp"
#include "sim/engine/estimate.hpp"
#include "sim/engine/simulator.hpp"

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
        const bool pair = comm.kind == CollectiveKind::send_recv || comm.axis == Axis::embedding;
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

EstimateReport estimate_report(const Evaluation& e) {
    const Estimate bound = estimate(e.job, e.schedule);
    const auto step = static_cast<double>(e.timeline.step_time());
    const double gap = step > 0.0 ? 1.0 - static_cast<double>(bound.step_time) / step : 0.0;
    return {to_milliseconds(bound.step_time), bound.exact, bound.form, gap};
}

}  // namespace

Evaluation evaluate(const Job& job) {
    assert(check(job).empty());
    if (job.plan.balance) return evaluate_balanced(job);
    Evaluation e;
    e.job = job;
    e.schedule = make_schedule(job);
    e.graph = lower(job, e.schedule);
    e.buffers = plan_buffers(job, e.graph);
    e.durations = cost_of(job, e.graph);
    e.timeline = simulate(e.graph, e.durations);
    e.report = make_report(job, e.graph, e.buffers, e.timeline);
    e.report.communication = communication(e);
    e.report.estimate = estimate_report(e);
    for (std::string& note : model_assumptions(job)) e.report.assumptions.push_back(std::move(note));
    return e;
}

}  // namespace foreshard
