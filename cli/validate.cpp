#include "cli/validate.hpp"

#include "cli/messages.hpp"
#include "cli/output.hpp"
#include "cli/threshold.hpp"
#include "sim/validate/json_validation.hpp"
#include "sim/validate/text_validation.hpp"

namespace foreshard::cli {

namespace {

/// A median may grow by this many points before a change must say so.
constexpr double allowed_growth_points = 0.5;

std::vector<PublishedRun> read_all(const std::vector<std::string>& files) {
    std::vector<PublishedRun> runs;
    for (const std::string& file : files) {
        const std::vector<PublishedRun> more = read_dataset(file);
        runs.insert(runs.end(), more.begin(), more.end());
    }
    return runs;
}

void add_figures(const std::string& prefix, const ErrorSummary& s, std::map<std::string, double>& figures) {
    figures[prefix + ".rows"] = s.rows;
    figures[prefix + ".median_abs_pct"] = s.median_abs_pct;
    figures[prefix + ".mean_abs_pct"] = s.mean_abs_pct;
    figures[prefix + ".p90_abs_pct"] = s.p90_abs_pct;
    figures[prefix + ".max_abs_pct"] = s.max_abs_pct;
    figures[prefix + ".bias_pct"] = s.bias_pct;
}

std::map<std::string, double> figures_of(const ValidationSummary& summary) {
    std::map<std::string, double> figures;
    add_figures("step_time", summary.step_time, figures);
    for (const auto& [kind, errors] : summary.memory) add_figures("memory." + kind, errors, figures);
    figures["oom.rows"] = summary.oom_rows;
    figures["oom.correct"] = summary.oom_correct;
    return figures;
}

}  // namespace

ExitCode run_validate(const ValidateOptions& options) {
    const std::vector<Threshold> thresholds = parse_thresholds(options.thresholds);
    const std::vector<PublishedRun> runs = read_all(options.datasets);
    if (options.ablation) {
        write_output("-", ablation_text(runs));
        return ok;
    }
    const Validation validation = validate(runs);
    if (options.json_file) write_output(*options.json_file, validation_json(validation));
    if (options.json_file != "-") {
        if (options.rows) write_output("-", validation_rows_text(validation));
        write_output("-", validation_text(validation));
    }
    if (options.record_file) write_output(*options.record_file, record_json(validation));
    bool missed = report_missed(thresholds, figures_of(validation.summary));
    if (options.against_file) {
        for (const std::string& line : regressions(validation, *options.against_file, allowed_growth_points)) {
            print_error(line);
            missed = true;
        }
    }
    return missed ? threshold_missed : ok;
}

}  // namespace foreshard::cli
