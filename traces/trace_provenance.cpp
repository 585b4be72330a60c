#include "traces/trace_provenance.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace foreshard {

namespace {

std::string schedule_in_words(const Job& job) {
    if (job.schedule_file) return "file " + job.schedule_file->name;
    return std::string(to_string(job.plan.schedule));
}

std::string options_in_words(const ParallelPlan& plan) {
    std::string text;
    if (plan.sequence_parallel) text += ", sequence parallel";
    const std::string scheme = data_parallel_in_words(plan);
    if (!scheme.empty()) text += ", " + scheme;
    if (plan.overlap_grad_reduce) text += ", overlapped gradient reduction";
    if (plan.overlap_param_gather) text += ", overlapped parameter gather";
    if (plan.recompute != Recompute::none) text += fmt::format(", {} recomputation", to_string(plan.recompute));
    return text;
}

}  // namespace

std::string plan_in_words(const Job& job) {
    const ParallelPlan& plan = job.plan;
    std::string text = fmt::format("tp {}, pp {}", plan.tp, plan.pp);
    if (plan.vpp > 1) text += fmt::format(" x {} chunks", plan.vpp);
    text += fmt::format(", dp {}", plan.dp);
    if (plan.cp > 1) text += fmt::format(", cp {}", plan.cp);
    if (plan.ep > 1) text += fmt::format(", ep {}", plan.ep);
    text += options_in_words(plan);
    text += fmt::format(", schedule {}, micro-batch {}, global batch {}, sequence {}, {}", schedule_in_words(job),
                        job.micro_batch, job.global_batch, job.seq_length, to_string(plan.precision));
    return text;
}

std::string trace_provenance(const Evaluation& evaluation, const std::vector<std::string>& notes) {
    const Job& job = evaluation.job;
    const Timeline& timeline = evaluation.timeline;
    const nlohmann::ordered_json data = {{"tool", "foreshard"},
                                         {"tool_version", version()},
                                         {"model", job.model.id},
                                         {"cluster", job.cluster.id},
                                         {"gpus", job.gpus},
                                         {"software", job.software.id},
                                         {"plan", plan_in_words(job)},
                                         {"gpus_per_process", evaluation.graph.ranks_represented},
                                         {"steps", evaluation.graph.steps},
                                         {"step_start_ms", to_milliseconds(timeline.window_start)},
                                         {"step_end_ms", to_milliseconds(timeline.window_end)},
                                         {"step_time_ms", evaluation.report.summary.step_time_ms},
                                         {"notes", notes},
                                         {"assumptions", evaluation.report.assumptions}};
    // Names of files may hold bytes that are no UTF-8.
    return data.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace foreshard
