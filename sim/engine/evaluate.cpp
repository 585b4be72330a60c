#include "sim/engine/evaluate.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include "sim/cost/calibrated.hpp"
#include "sim/cost/calibration_notes.hpp"
#include "sim/cost/nccl_network.hpp"
#include "sim/cost/variation.hpp"
#include "sim/engine/assumptions.hpp"
#include "sim/engine/balance.hpp"
#include "sim/engine/calibration_band.hpp"
#include "sim/engine/computing_ranks.hpp"
#include "sim/engine/data_parallel_times.hpp"
#include "sim/engine/estimate.hpp"
#include "sim/engine/fluid.hpp"
#include "sim/engine/near_messages.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/stoppable.hpp"
#include "sim/error.hpp"
#include "sim/plan/expand.hpp"
#include "sim/plan/op_graph.hpp"
#include "sim/plan/schedules.hpp"
#include "sim/spec/calibration.hpp"
#include "sim/spec/schedule_kinds.hpp"

namespace foreshard {

namespace {

/// Horovod's reductions depend on times: a dry run fixes them first.
TaskGraph lowered(const Job& job, const Schedule& schedule) {
    if (job.stage_times) return lower(job, schedule);
    const CalibratedCost cost(job);
    const NcclNetwork network(job);
    return lower(job, schedule, fused_buckets(job, schedule, cost, network));
}

Durations cost_of(const Job& job, const TaskGraph& graph) {
    if (job.stage_times) return given_durations(*job.stage_times, graph);
    const CalibratedCost cost(job);
    const NcclNetwork network(job);
    return durations(job, graph, cost, network);
}

Staleness staleness_of(const AsyncSgdResult& result) {
    return {result.staleness_mean, result.staleness_histogram, result.learning_rate_scale, result.updates_per_s};
}

bool graph_is_stale(const Job& job) {
    return !job.schedule_file && traits_of(job.plan.schedule).asynchronous;
}

/// Of an asynchronous pipeline: over its ranks, each of which updates on its own.
Staleness staleness_of(const Job& job, const Timeline& timeline) {
    const bool every = job.plan.schedule == ScheduleKind::pipedream;
    Staleness result;
    result.histogram = every ? pipedream_staleness(job.plan.pp) : pipedream_2bw_staleness();
    for (std::size_t s = 0; s < result.histogram.size(); ++s) {
        result.mean += static_cast<double>(s) * result.histogram[s];
    }
    result.learning_rate_scale = staleness_scale(result.histogram);
    const double updates = every ? static_cast<double>(microbatch_count(job)) : 1.0;
    result.updates_per_s = updates * picoseconds_per_second / static_cast<double>(timeline.step_time());
    return result;
}

/// Costs of the graph's tasks, with what the job says of single ranks.
Durations varied_cost_of(const Job& job, const TaskGraph& graph) {
    Durations durations = cost_of(job, graph);
    vary(job, graph, durations);
    return durations;
}

/// Links may make replicas differ that are equal otherwise.
void lower_and_cost(Evaluation& e, const std::stop_token& stop) {
    e.graph = lowered(e.job, e.schedule);
    if (replicas_differ(e.job)) e.graph = expand_replicas(e.job, e.graph, e.job.plan.dp);
    check_stop(stop);
    e.durations = varied_cost_of(e.job, e.graph);
    e.async_sgd = serve_learners(e.job, e.graph, e.durations);
    if (e.job.plan.contention == Contention::off) return;
    check_stop(stop);
    e.flows = map_flows(e.job, e.graph, e.durations);
    if (e.flows.replicas_alike) return;
    e.graph = expand_replicas(e.job, e.graph, e.job.plan.dp);
    check_stop(stop);
    e.durations = varied_cost_of(e.job, e.graph);
    e.flows = map_flows(e.job, e.graph, e.durations);
}

/// A run of the evaluated graph; runs differ in their random numbers.
Timeline run_once(const Evaluation& e, int run, const std::stop_token& stop) {
    check_stop(stop);
    Durations durations = e.durations;
    durations.jitter.run = run;
    if (e.job.plan.contention == Contention::off) return simulate(e.graph, durations);
    const DeviceSharing device{e.job.plan.contention == Contention::full, e.job.cluster.device.sm_count};
    return simulate_fluid(e.graph, durations, e.flows, device, stop);
}

/// Mean and 90th percentile (nearest rank) of the step over all runs, of which the timeline shows the first.
void add_runs(Evaluation& e, const std::stop_token& stop) {
    const int runs = e.job.plan.variability.runs;
    if (runs <= 1) return;
    std::vector<double> steps = {to_milliseconds(e.timeline.step_time())};
    for (int run = 1; run < runs; ++run) steps.push_back(to_milliseconds(run_once(e, run, stop).step_time()));
    std::sort(steps.begin(), steps.end());
    double sum = 0.0;
    for (const double step : steps) sum += step;
    e.report.summary.runs = runs;
    e.report.summary.step_time_mean_ms = sum / runs;
    e.report.summary.step_time_p90_ms = steps[static_cast<std::size_t>((9 * runs + 9) / 10 - 1)];
}

bool same_kind(const CommReport& a, const CommReport& b) {
    return a.axis == b.axis && a.collective == b.collective && a.from_rank == b.from_rank && a.to_rank == b.to_rank &&
           a.message_bytes == b.message_bytes && a.time_us == b.time_us;
}

/// Messages and collectives between tasks. Replicas that take the same time are told once.
void append_task_communication(const Evaluation& e, std::vector<CommReport>& all) {
    for (std::size_t i = 0; i < e.graph.comm_classes.size(); ++i) {
        const CommClass& comm = e.graph.comm_classes[i];
        const bool message = comm.kind == CollectiveKind::send_recv && comm.axis != Axis::host;
        const bool pair = message || comm.axis == Axis::embedding || comm.axis == Axis::replica;
        const auto pp_rank = [&](std::int32_t rank) {
            return pair ? e.graph.places[static_cast<std::size_t>(rank)].pp : -1;
        };
        const GroupPlacement group = pair ? GroupPlacement{2, 1, 1} : group_placement(e.job, comm.axis);
        const CommDuration& time = e.durations.comms[i];
        CommReport entry{std::string(to_string(comm.axis)),
                         std::string(to_string(comm.kind)),
                         pp_rank(comm.from_rank),
                         pp_rank(comm.to_rank),
                         group.size,
                         group.domains,
                         comm.message.value,
                         static_cast<double>(time.busy + time.latency) / 1e6,
                         e.durations.limits[i]};
        const bool told =
            std::any_of(all.begin(), all.end(), [&](const CommReport& known) { return same_kind(known, entry); });
        if (!told || e.graph.ranks == e.graph.pipeline_ranks) all.push_back(std::move(entry));
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
    if (!e.job.stage_times) append_pass_communication(e, NcclNetwork(e.job), all);
    append_task_communication(e, all);
    return all;
}

/// A file's directions are known only once it is read; named schedules are refused by check(job).
void refuse_sharded_replicas(const Evaluation& e) {
    const bool overlaps = e.job.plan.overlap_grad_reduce && e.job.plan.dp * e.job.plan.cp > 1;
    if (e.schedule.direction.empty() || (!shards_parameters(e.job.plan) && !overlaps)) return;
    throw InputError("--schedule-file", "",
                     "has two directions, whose replicas are summed after the last pass: it goes neither with sharded "
                     "parameters nor with --overlap-grad-reduce");
}

EstimateReport estimate_report(const Evaluation& e) {
    const Estimate bound = estimate(e.job, e.schedule);
    const auto step = static_cast<double>(e.timeline.step_time());
    const double gap = step > 0.0 ? 1.0 - static_cast<double>(bound.step_time) / step : 0.0;
    const bool shares = e.job.plan.contention != Contention::off;
    return {to_milliseconds(bound.step_time), bound.exact && !shares,
            bound.form + (shares ? ", without contention" : ""), gap};
}

/// What the calibration says of the result, and what of the result it says nothing of.
void add_calibration(Evaluation& e) {
    if (!e.job.calibration || e.job.stage_times) return;
    Summary& summary = e.report.summary;
    const StepBand band = calibration_band(e.job, e.graph, e.report);
    summary.step_time_low_ms = summary.step_time_ms * band.low_ratio;
    summary.step_time_high_ms = summary.step_time_ms * band.high_ratio;
    for (std::string& note : calibration_notes(e.job, e.graph)) e.report.assumptions.push_back(std::move(note));
}

/// True until it is known how many ranks of a host compute at a time.
bool ranks_disturb(const Job& job) {
    return laws_apply(job) && !job.calibration->shared_host.empty() && !job.stage_times && job.computing_ranks == 0.0 &&
           std::min(job.gpus, job.cluster.gpus_per_node) > 1;
}

/// How long ops take depends on how many ranks compute meanwhile, and that on how long they take: from all ranks on, a
/// few rounds of both settle it.
Job with_computing_ranks(Job job, const std::stop_token& stop) {
    constexpr int most_rounds = 4;
    constexpr double settled = 0.005;
    const int host = std::min(job.gpus, job.cluster.gpus_per_node);
    job.computing_ranks = host;
    for (int round = 0; round < most_rounds; ++round) {
        const Evaluation e = evaluate(job, stop);
        const double found = std::min<double>(computing_ranks(e.graph, e.timeline), host);
        const double moved = std::abs(found - job.computing_ranks);
        job.computing_ranks = std::max(found, 1.0);
        if (moved < settled * host) break;
    }
    job.assumptions.push_back(
        fmt::format("calibration {}: while a rank computes, {:.2f} of the {} ranks of its host do", job.calibration->id,
                    job.computing_ranks, host));
    return job;
}

}  // namespace

Schedule schedule_of(const Job& job) {
    if (!follows_times(job) || job.stage_times) return make_schedule(job);
    const CalibratedCost cost(job);
    const PassCosts costs = pass_costs(job, cost, NcclNetwork(job));
    return make_schedule(job, costs, split_memory(job, build_stage_ops(job, stage_layout(job))));
}

Evaluation evaluate(const Job& job) {
    return evaluate(job, std::stop_token());
}

Evaluation evaluate(const Job& job, const std::stop_token& stop) {
    assert(check(job).empty());
    check_stop(stop);
    if (job.plan.balance) return evaluate_balanced(job, stop);
    if (ranks_disturb(job)) return evaluate(with_computing_ranks(job, stop), stop);
    Evaluation e;
    e.job = job;
    e.schedule = schedule_of(job);
    refuse_sharded_replicas(e);
    check_stop(stop);
    lower_and_cost(e, stop);
    check_stop(stop);
    e.buffers = plan_buffers(job, e.graph);
    e.timeline = run_once(e, 0, stop);
    if (job.software.structure.counts_buffers) {
        count_near_messages(e.graph, e.timeline, near_message_ratio, e.buffers);
    }
    check_stop(stop);
    e.report = make_report(job, e.graph, e.buffers, e.timeline);
    add_calibration(e);
    add_runs(e, stop);
    check_stop(stop);
    e.report.communication = communication(e);
    if (e.async_sgd) e.report.summary.staleness = staleness_of(*e.async_sgd);
    if (graph_is_stale(job)) e.report.summary.staleness = staleness_of(job, e.timeline);
    for (std::string& note : schedule_assumptions(job)) e.report.assumptions.push_back(std::move(note));
    if (ranks_alike(job.plan.variability) && !e.async_sgd) e.report.estimate = estimate_report(e);
    for (std::string& note : model_assumptions(job)) e.report.assumptions.push_back(std::move(note));
    return e;
}

}  // namespace foreshard
