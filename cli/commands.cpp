#include "cli/commands.hpp"

#include "cli/messages.hpp"
#include "cli/output.hpp"
#include "cli/provenance.hpp"
#include "cli/threshold.hpp"
#include "sim/json_report.hpp"
#include "sim/result/text.hpp"
#include "sim/sim.hpp"
#include "traces/chrome_trace.hpp"

namespace foreshard::cli {

namespace {

std::string text_of(View view, const Job& job, const Report& report) {
    switch (view) {
        case View::simulate:
            return simulate_text(job, report);
        case View::memory:
            return memory_text(job, report);
        case View::explain:
            return explain_text(job, report);
    }
    return "";
}

}  // namespace

ExitCode run(View view, const RunOptions& options) {
    const std::vector<Threshold> thresholds = parse_thresholds(options.thresholds);
    const Job job = job_from(options.job);
    const std::vector<BrokenRule> broken = check(job);
    if (!broken.empty()) {
        print_broken_rules(broken);
        return infeasible;
    }
    const Evaluation evaluation = evaluate(job);
    const Report& report = evaluation.report;
    for (const std::string& warning : report.warnings) print_warning(warning);
    const bool missed = report_missed(thresholds, summary_figures(report));
    if (options.trace_file) {
        for (const std::string& note : write_chrome_trace(*options.trace_file, evaluation)) print_warning(note);
    }
    if (options.json_file)
        write_output(*options.json_file, report_json(evaluation, {options.command, input_files(options.job)}));
    if (options.json_file != "-") write_output("-", text_of(view, job, report));
    if (!report.summary.fits) {
        print_error("the plan does not fit into memory");
        return infeasible;
    }
    return missed ? threshold_missed : ok;
}

}  // namespace foreshard::cli
