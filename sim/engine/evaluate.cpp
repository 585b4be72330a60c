#include "sim/engine/evaluate.hpp"

#include <cassert>

#include <fmt/format.h>

#include "sim/cost/link_network.hpp"
#include "sim/cost/roofline.hpp"
#include "sim/engine/simulator.hpp"

namespace foreshard {

namespace {

Durations cost_of(const Job& job, const TaskGraph& graph) {
    if (job.stage_times) return given_durations(*job.stage_times, graph);
    const RooflineCost cost(job.cluster.device, job.software, job.plan.precision);
    const LinkNetwork network(job.cluster, job.software);
    return durations(job, graph, cost, network);
}

/// Message or collective classes, as the report lists them. Tensor, context and expert parallel collectives run inside
/// passes and are listed per distinct message.
std::vector<CommReport> communication(const Evaluation& e) {
    std::vector<CommReport> all;
    for (std::size_t i = 0; i < e.graph.comm_classes.size(); ++i) {
        const CommClass& comm = e.graph.comm_classes[i];
        const bool pair = comm.axis == Axis::pp || comm.axis == Axis::embedding;
        const GroupPlacement group = pair ? GroupPlacement{2, 1, 1} : group_placement(e.job, comm.axis);
        const CommDuration& time = e.durations.comms[i];
        all.push_back({std::string(to_string(comm.axis)), std::string(to_string(comm.kind)), pair ? comm.from_rank : -1,
                       pair ? comm.to_rank : -1, group.size, group.domains, comm.message.value,
                       static_cast<double>(time.busy + time.latency) / 1e6, e.durations.limits[i]});
    }
    return all;
}

/// Assumptions that the model makes for every job, in words.
std::vector<std::string> model_assumptions(const Job& job) {
    if (job.stage_times) return {"all pass times are given; optimizer, gradient sync and per-step work are left out"};
    std::vector<std::string> notes = {
        fmt::format("GEMMs at a constant {:.2f} of the {} peak, memory-bound kernels at {:.2f} of the bandwidth of {}",
                    job.cluster.device.gemm_ratio / job.software.numbers.gemm_time_factor,
                    to_string(job.plan.precision),
                    job.cluster.device.memory_ratio / job.software.numbers.memory_time_factor, job.cluster.device.id),
        "links are free of contention; all replicas run at the same speed"};
    if (job.model.moe) notes.emplace_back("tokens are routed to experts evenly, none is dropped");
    if (job.cluster.fits.empty() && job.gpus > 1) {
        notes.push_back("no measured collectives for " + job.cluster.id + ": rings at 0.8 of the link bandwidth");
    }
    return notes;
}

}  // namespace

Evaluation evaluate(const Job& job) {
    assert(check(job).empty());
    Evaluation e;
    e.job = job;
    e.schedule = make_schedule(job);
    e.graph = lower(job, e.schedule);
    e.buffers = plan_buffers(job, e.graph);
    e.durations = cost_of(job, e.graph);
    e.timeline = simulate(e.graph, e.durations);
    e.report = make_report(job, e.graph, e.buffers, e.timeline);
    e.report.communication = communication(e);
    for (std::string& note : model_assumptions(job)) e.report.assumptions.push_back(std::move(note));
    return e;
}

}  // namespace foreshard
