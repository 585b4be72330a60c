#include "sim/result/run.hpp"

#include <limits>

#include <fmt/format.h>

#include "sim/spec/json_settings.hpp"

namespace foreshard {

namespace {

/// Spans of tasks, in their order. A pass with recomputation has two; a task with spans in several rows is told by that
/// of its compute row, else by its last.
std::vector<std::size_t> spans_of(const SpanTable& spans, std::size_t tasks, const std::vector<std::int32_t>& path) {
    constexpr auto none = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> first(tasks, none);
    std::vector<std::size_t> last(tasks, none);
    for (std::size_t span = 0; span < spans.size(); ++span) {
        const auto task = static_cast<std::size_t>(spans.task[span]);
        const bool compute = is_compute(spans.kind[span]);
        if (compute && first[task] == none) first[task] = span;
        if (compute || last[task] == none || !is_compute(spans.kind[last[task]])) last[task] = span;
    }
    std::vector<std::size_t> result;
    result.reserve(path.size());
    for (const std::int32_t id : path) {
        const auto task = static_cast<std::size_t>(id);
        if (first[task] != none && first[task] != last[task]) result.push_back(first[task]);
        result.push_back(last[task]);
    }
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
    run.workspaces = report.workspaces;
    run.runtime = report.runtime;
    run.communication = report.communication;
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
