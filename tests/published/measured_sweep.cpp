#include "tests/published/measured_sweep.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/spec/data_parallel.hpp"
#include "sim/spec/schedule_kinds.hpp"
#include "sim/validate/run_job.hpp"

namespace foreshard::test {

namespace {

/// What tells plans of a sweep apart. With one replica there is nothing to shard.
using PlanMark = std::tuple<int, int, int, int, std::int64_t, ScheduleKind, int, Recompute, int>;

PlanMark mark_of(const Job& job) {
    const ParallelPlan& plan = job.plan;
    const int stage = shards_parameters(plan) ? 3 : shards_gradients(plan) ? 2 : shards_optimizer(plan) ? 1 : 0;
    return {plan.tp,  plan.pp,         plan.dp,
            plan.cp,  job.micro_batch, plan.schedule,
            plan.vpp, plan.recompute,  plan.dp > 1 ? stage : 0};
}

std::string sweep_name(const PublishedRun& run) {
    return fmt::format("{}: {} layers of {}, sequence {}, {} x {}, batch {}, {}, {}", run.source, run.layers,
                       run.hidden, run.seq_length, run.gpus, run.gpu, run.global_batch.value_or(0), run.precision,
                       run.software);
}

/// What the plan's axes say; the rest is common to the sweep.
JobRequest without_plan(JobRequest request) {
    for (auto* number : {&request.dp, &request.tp, &request.pp, &request.cp, &request.vpp, &request.zero}) {
        number->reset();
    }
    request.mbs.reset();
    request.sp.reset();
    request.recompute.reset();
    request.schedule.reset();
    request.layout.reset();
    request.use_distributed_optimizer.reset();
    request.data_parallel.reset();
    return request;
}

}  // namespace

std::vector<MeasuredSweep> measured_sweeps(const std::vector<PublishedRun>& runs, std::size_t least) {
    std::map<std::string, MeasuredSweep> known;
    for (const PublishedRun& run : runs) {
        if (!run.doubted.empty() || !run.step_time_s || !request_of(run).skipped.empty()) continue;
        MeasuredSweep& sweep = known[sweep_name(run)];
        sweep.name = sweep_name(run);
        sweep.runs.push_back(run);
    }
    std::vector<MeasuredSweep> sweeps;
    for (auto& [name, sweep] : known) {
        if (sweep.runs.size() >= least) sweeps.push_back(std::move(sweep));
    }
    return sweeps;
}

SearchRequest search_over(const std::vector<PublishedRun>& runs) {
    std::map<std::string, std::set<std::string>> values;
    SearchRequest request;
    bool reduces_under = false;
    bool gathers_under = false;
    request.constraints["balance"] = "off";  // published plans name their layers or have even ones
    for (const PublishedRun& run : runs) {
        const JobRequest row = request_of(run).request;
        const Job job = resolve(row);
        const ParallelPlan& plan = job.plan;
        request.base = without_plan(row);
        reduces_under |= plan.overlap_grad_reduce;
        gathers_under |= plan.overlap_param_gather;
        values["tp"].insert(std::to_string(plan.tp));
        values["pp"].insert(std::to_string(plan.pp));
        values["dp"].insert(std::to_string(plan.dp));
        values["cp"].insert(std::to_string(plan.cp));
        values["mbs"].insert(std::to_string(job.micro_batch));
        values["vpp"].insert(std::to_string(plan.vpp));
        values["schedule"].insert(std::string(to_string(plan.schedule)));
        values["recompute"].insert(std::string(to_string(plan.recompute)));
        values["data_parallel"].insert(std::string(to_string(plan.data_parallel)));
        if (plan.dp > 1) values["zero"].insert(std::to_string(std::get<8>(mark_of(job))));
        values["sp"].insert(plan.sequence_parallel ? "on" : "off");
    }
    if (values["zero"].empty()) values["zero"] = {"0"};
    // With one rank there is no sequence to divide: rows without tensor parallelism say nothing of it.
    if (values["sp"].size() > 1) values["sp"] = {"on"};
    for (const auto& [axis, words] : values) request.constraints[axis] = fmt::format("{}", fmt::join(words, ","));
    request.base.overlap_grad_reduce = reduces_under;
    request.base.overlap_param_gather = gathers_under;
    request.top = 1'000'000;
    return request;
}

std::vector<RankedRun> in_order_of_search(const std::vector<PublishedRun>& runs, const SearchOutcome& found) {
    std::map<PlanMark, const PublishedRun*> measured;
    for (const PublishedRun& run : runs) measured[mark_of(resolve(request_of(run).request))] = &run;
    std::vector<RankedRun> ranked;
    for (const FoundPlan& plan : found.plans) {
        const auto known = measured.find(mark_of(resolve(merge(found.loaded, plan.plan))));
        if (known != measured.end()) ranked.push_back({known->second, plan.summary.step_time_ms * 1e-3});
    }
    return ranked;
}

double loss_pct(const std::vector<PublishedRun>& runs, const std::vector<RankedRun>& ranked) {
    if (ranked.empty()) return std::numeric_limits<double>::quiet_NaN();
    double best = std::numeric_limits<double>::max();
    for (const PublishedRun& run : runs) best = std::min(best, run.step_time_s.value_or(best));
    return 100.0 * (ranked.front().run->step_time_s.value_or(0.0) / best - 1.0);
}

}  // namespace foreshard::test
