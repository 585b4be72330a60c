#include "cli/compare.hpp"

#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "cli/flags.hpp"
#include "cli/messages.hpp"
#include "cli/output.hpp"
#include "sim/engine/evaluate.hpp"
#include "sim/error.hpp"
#include "sim/result/compare_text.hpp"
#include "sim/result/json_comparison.hpp"
#include "sim/spec/catalogue.hpp"
#include "traces/file_kind.hpp"
#include "traces/read_report.hpp"
#include "traces/read_trace.hpp"
#include "traces/report_run.hpp"

namespace foreshard::cli {

namespace {

/// A run, or the rules that its job breaks.
struct Loaded {
    Run run;
    std::vector<BrokenRule> broken;
    bool fits = true;
};

Loaded simulate(const std::string& name) {
    JobFlags flags;
    flags.job_file = name;
    const Job job = job_from(flags);
    Loaded loaded;
    loaded.broken = check(job);
    if (!loaded.broken.empty()) return loaded;
    const Evaluation e = evaluate(job);
    loaded.run = make_run(name, e.job, e.graph, e.timeline, e.report);
    loaded.fits = e.report.summary.fits;
    return loaded;
}

Loaded load(const std::string& name) {
    const bool in_catalogue = !is_file_name(name) && !std::filesystem::exists(name);
    if (in_catalogue) return simulate(name);
    Loaded loaded;
    switch (kind_of_file(name)) {
        case FileKind::job:
            return simulate(name);
        case FileKind::report:
            loaded.run = run_with_spans(read_report(name));
            return loaded;
        case FileKind::trace:
            loaded.run = read_trace(name);
            return loaded;
        case FileKind::search:
            break;
    }
    throw InputError(name, "", "is a search: compare takes plan ids, jobs, reports and traces");
}

/// What reading a trace left out or guessed; what the trace says about itself is in the JSON.
void warn_of(const Run& run) {
    for (const std::string& note : run.notes) {
        if (run.source == RunSource::imported && note.starts_with(run.name + ": ")) print_warning(note);
    }
}

struct LoadedRuns {
    std::vector<Run> runs;  ///< fewer than asked for when one cannot run
    ExitCode code = ok;
};

LoadedRuns load_all(const std::vector<std::string>& inputs) {
    LoadedRuns all;
    for (const std::string& input : inputs) {
        Loaded loaded = load(input);
        if (!loaded.broken.empty()) {
            print_error(input + " cannot run:");
            print_broken_rules(loaded.broken);
            all.code = infeasible;
            return all;
        }
        if (!loaded.fits) {
            print_error(fmt::format("{} does not fit into memory", input));
            all.code = infeasible;
        }
        warn_of(loaded.run);
        all.runs.push_back(std::move(loaded.run));
    }
    return all;
}

/// True when a step is longer than the first by more than so many percent.
bool regressed(const std::vector<Run>& runs, double percent) {
    bool any = false;
    for (std::size_t i = 1; i < runs.size(); ++i) {
        const double growth =
            100.0 * (static_cast<double>(runs[i].step_time) / static_cast<double>(runs[0].step_time) - 1.0);
        if (growth <= percent) continue;
        print_error(fmt::format("--fail-on-regression {}%: the step of {} is {:.2f} % longer than that of {}", percent,
                                runs[i].name, growth, runs[0].name));
        any = true;
    }
    return any;
}

}  // namespace

double parse_percent(const std::string& text, const std::string& flag) {
    std::string number = text.substr(0, text.find('%'));
    while (number.ends_with(' ')) number.pop_back();
    double value = 0.0;
    const char* end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, value);
    const bool is_number = error == std::errc() && stop == end && text.find('%') >= text.size() - 1;
    if (!is_number || !(value >= 0.0 && value < 1e6)) {
        throw InputError(flag, "", fmt::format("'{}' must be a percentage of at least 0, e.g. 2%", text));
    }
    return value;
}

ExitCode run_compare(const CompareOptions& options) {
    const bool limited = options.regression.has_value();
    const double allowed = limited ? parse_percent(*options.regression, "--fail-on-regression") : 0.0;
    if (options.inputs.size() < 2) throw InputError("compare", "", "name at least two plans, reports or traces");
    const auto [runs, code] = load_all(options.inputs);
    if (runs.size() < options.inputs.size()) return code;
    std::vector<Comparison> comparisons;
    std::string text;
    for (std::size_t i = 1; i < runs.size(); ++i) {
        comparisons.push_back(compare(runs[0], runs[i]));
        text += (i > 1 ? "\n" : "") + compare_text(runs[0], runs[i], comparisons.back());
    }
    if (options.json_file) write_output(*options.json_file, comparison_json(runs, comparisons));
    if (options.json_file != "-") write_output("-", text);
    const bool missed = limited && regressed(runs, allowed);
    return code == ok && missed ? threshold_missed : code;
}

}  // namespace foreshard::cli
