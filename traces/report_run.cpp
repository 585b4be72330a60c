#include "traces/report_run.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "sim/engine/evaluate.hpp"
#include "sim/plan/schedule_request.hpp"

namespace foreshard {

namespace {

/// The run as it is in the report, and why its passes are not known.
Run without_spans(Run run, const std::string& why) {
    run.notes.push_back(fmt::format("{}: its passes are not known: {}", run.name, why));
    return run;
}

/// What the report says of itself.
void take_words(Run& run, const Run& plain) {
    run.name = plain.name;
    run.source = plain.source;
    run.notes = plain.notes;
    run.figures = plain.figures;
    run.provenance = plain.provenance;
}

Run simulated_again(const ReadReport& report, const Job& job, Run plain) {
    const Evaluation e = evaluate(job);
    Run run = make_run(report.name, e.job, e.graph, e.timeline, e.report);
    const std::vector<std::string> differ = mismatches(report, run.figures);
    if (!differ.empty()) return without_spans(std::move(plain), "simulated again, it differs: " + differ.front());
    take_words(run, plain);
    return run;
}

bool is_task(const MeasuredTask& measured, const TaskGraph& graph, std::int32_t id) {
    const Stream& stream = graph.stream_of(id);
    return measured.pp_rank == graph.places[static_cast<std::size_t>(stream.rank)].pp &&
           measured.stream == to_string(stream.lane) && measured.task == task_name(graph, id) &&
           measured.step == graph.tasks[static_cast<std::size_t>(id)].step;
}

Run measured_step(const ReadReport& report, const Job& job, Run plain) {
    if (report.tasks.empty()) return without_spans(std::move(plain), "the report has no times of tasks");
    const TaskGraph graph = lower(job, make_schedule(job));
    bool same = report.tasks.size() == graph.tasks.size();
    Timeline timeline;
    for (std::size_t i = 0; same && i < report.tasks.size(); ++i) {
        same = is_task(report.tasks[i], graph, static_cast<std::int32_t>(i));
        timeline.start.push_back(report.tasks[i].start);
        timeline.end.push_back(report.tasks[i].end);
    }
    if (!same)
        return without_spans(std::move(plain), "the report's tasks are not those of its job as it is compiled now");
    set_window(graph, timeline);
    const Report again = make_report(job, graph, plan_buffers(job, graph), timeline);
    Run run = make_run(report.name, job, graph, timeline, again);
    constexpr Picoseconds rounding = 1000;
    if (std::abs(run.step_time - plain.step_time) > rounding) {
        const std::string reason = fmt::format("its tasks give a step of {:.6f} ms, its summary {:.6f} ms",
                                               to_milliseconds(run.step_time), to_milliseconds(plain.step_time));
        return without_spans(std::move(plain), reason);
    }
    take_words(run, plain);
    return run;
}

}  // namespace

Run run_with_spans(const ReadReport& report) {
    Run plain = run_of(report);
    const Job job = resolve(with_schedule_counts(report.job));
    if (const std::vector<BrokenRule> broken = check(job); !broken.empty()) {
        return without_spans(std::move(plain), "its plan cannot run: " + broken.front().rule);
    }
    if (report.source == RunSource::measured) return measured_step(report, job, std::move(plain));
    return simulated_again(report, job, std::move(plain));
}

}  // namespace foreshard
