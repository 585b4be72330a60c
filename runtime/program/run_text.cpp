#include "runtime/program/run_text.hpp"

#include <fmt/format.h>

namespace foreshard::runtime {

namespace {

double mib(std::int64_t bytes) {
    return static_cast<double>(bytes) / 1048576.0;
}

const char* comm_text(Comm comm) {
    switch (comm) {
        case Comm::threads:
            return "threads";
        case Comm::virtual_ranks:
            return "virtual ranks on one GPU";
        case Comm::mpi:
            return "MPI processes";
        case Comm::tcp:
            return "processes";
        case Comm::nccl:
            return "processes with NCCL";
    }
    return "";
}

std::string head_line(const RunReport& run) {
    const ParallelPlan& plan = run.plan.job.plan;
    return fmt::format("{} on {} ranks (tp {}, dp {}, pp {}), schedule {}, {} micro-batches, {}, {}\n",
                       run.plan.job.model.name, run.plan.ranks.count(), plan.tp, plan.dp, plan.pp,
                       run.plan.schedule.name, run.plan.graph.microbatches, dtype_name(run.options),
                       comm_text(run.options.comm));
}

std::string step_lines(const Measurement& measurement, const Report& report) {
    const Spread& step = measurement.step;
    std::string text = fmt::format("step time   {:.2f} ms, median of {} (10 % below {:.2f}, 90 % below {:.2f})\n",
                                   step.median_ms, step.count, step.p10_ms, step.p90_ms);
    if (measurement.plain.count > 0) {
        text += fmt::format("            {:.2f} ms without recording tasks, median of {} (ratio {:.3f})\n",
                            measurement.plain.median_ms, measurement.plain.count,
                            step.median_ms / measurement.plain.median_ms);
    }
    text += fmt::format("bubble      {:.1f} % of the pipeline phase\n", 100.0 * report.summary.bubble_ratio);
    text += fmt::format("loss        {:.6f} in the first step, {:.6f} in the last\n", measurement.steps.front().loss,
                        measurement.steps.back().loss);
    return text;
}

std::string rank_lines(const RunReport& run) {
    std::string text = fmt::format("\n{:>4} {:>4} {:>4} {:>4} {:>10} {:>11} {:>12} {:>12} {:>13}\n", "rank", "pp", "dp",
                                   "tp", "busy ms", "waiting ms", "transfer ms", "memory MiB", "reserved MiB");
    for (const RankMeasure& rank : run.measurement->ranks) {
        text += fmt::format("{:>4} {:>4} {:>4} {:>4} {:>10.2f} {:>11.2f} {:>12.2f} {:>12.2f} {:>13.2f}\n", rank.rank,
                            rank.position.pp, rank.position.dp, rank.position.tp, rank.busy_ms, rank.waiting_ms,
                            rank.transfer_ms, mib(rank.high_water.total()),
                            mib(static_cast<std::int64_t>(rank.pool.reserved)));
    }
    return text +
           "busy: compute. waiting and transfer: of communication tasks, summed over the rank's streams, which "
           "run beside compute. memory: most that tensors took; reserved: the arena that they lie in.\n";
}

}  // namespace

std::string progress_line(int steps_done, int steps, const RunRecord& record, int steps_per_run) {
    const double time = std::chrono::duration<double, std::milli>(record.end - record.start).count() / steps_per_run;
    return fmt::format("step {}/{}  loss {:.6f}  {:.2f} ms{}\n", steps_done, steps,
                       record.losses.empty() ? 0.0 : record.losses.back(), time, record.warmup ? "  (warm-up)" : "");
}

std::string check_text(const Comparison& comparison) {
    std::string text = fmt::format(
        "check       {}: {} tensors, worst relative error {:.2e} ({}), loss {:.12g} against {:.12g} (tolerance {:g})\n",
        comparison.passed() ? "passed" : "FAILED", comparison.tensors, comparison.worst.relative,
        comparison.worst.tensor.empty() ? "none differs" : comparison.worst.tensor, comparison.loss,
        comparison.reference_loss, comparison.tolerance);
    for (const std::string& name : comparison.uncovered) text += "            on no rank: part of " + name + "\n";
    return text;
}

std::string run_text(const RunReport& run, const Report& report) {
    std::string text = head_line(run) + step_lines(*run.measurement, report);
    if (run.outcome.comparison) text += check_text(*run.outcome.comparison);
    return text + rank_lines(run);
}

}  // namespace foreshard::runtime
