#include "sim/result/run.hpp"

#include <fmt/format.h>

#include "sim/spec/json_settings.hpp"

namespace foreshard {

namespace {

std::vector<std::size_t> spans_of(const SpanTable& spans, std::size_t tasks, const std::vector<std::int32_t>& path) {
    std::vector<std::size_t> last(tasks, spans.size());
    for (std::size_t span = 0; span < spans.size(); ++span) {
        std::size_t& known = last[static_cast<std::size_t>(spans.task[span])];
        if (known == spans.size() || is_compute(spans.kind[span])) known = span;
    }
    std::vector<std::size_t> result;
    result.reserve(path.size());
    for (const std::int32_t task : path) result.push_back(last[static_cast<std::size_t>(task)]);
    return result;
}

}  // namespace

std::string_view to_string(RunSource source) {
    switch (source) {
        case RunSource::simulated:
            return "simulated";
        case RunSource::measured:
            return "measured";
        case RunSource::imported:
            return "imported";
    }
    return "";
}

Run make_run(std::string name, const Job& job, const TaskGraph& graph, const Timeline& timeline, const Report& report) {
    Run run;
    run.name = std::move(name);
    run.spans = make_spans(graph, timeline);
    for (const RankReport& rank : report.ranks) {
        run.accounts.push_back(rank.account);
        run.memory.push_back(rank.memory);
    }
    run.memory_capacity = report.summary.memory_capacity;
    run.step_time = timeline.step_time();
    run.figures = summary_figures(report);
    run.critical_path = spans_of(run.spans, graph.tasks.size(), critical_path(graph, timeline));
    run.settings = job_settings(job);
    run.notes = report.warnings;
    run.notes.insert(run.notes.end(), report.assumptions.begin(), report.assumptions.end());
    run.provenance = fmt::format(
        "{} on {} x {}, tp {} pp {} dp {}, {}", job.model.id, job.gpus, job.cluster.id, job.plan.tp, job.plan.pp,
        job.plan.dp, job.schedule_file ? job.schedule_file->name : std::string(to_string(job.plan.schedule)));
    return run;
}

}  // namespace foreshard
