#include "cli/verify.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/child_process.hpp"
#include "cli/messages.hpp"
#include "cli/output.hpp"
#include "cli/threshold.hpp"
#include "cli/verify_calibration.hpp"
#include "cli/verify_runs.hpp"
#include "sim/error.hpp"
#include "sim/sim.hpp"
#include "sim/spec/text_file.hpp"
#include "sim/validate/json_validation.hpp"
#include "sim/validate/scatter_plot.hpp"
#include "sim/validate/verification.hpp"

namespace foreshard::cli {

namespace {

std::atomic<bool> stop_asked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

/// Ctrl-C ends the runs, not the program: what was measured is told.
class InterruptAsked {
public:
    InterruptAsked() : before_(std::signal(SIGINT, [](int) { stop_asked = true; })) {}
    InterruptAsked(const InterruptAsked&) = delete;
    InterruptAsked& operator=(const InterruptAsked&) = delete;
    ~InterruptAsked() { std::signal(SIGINT, before_); }

private:
    void (*before_)(int);
};

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "foreshard-verify-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) {
            throw InputError(name, "", "cannot be made: " + std::generic_category().message(errno));
        }
        path_ = name;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// On a GPU, ranks in one process are virtual ones.
std::vector<VerifyPlan> plans_for(const VerifyOptions& options) {
    std::vector<VerifyPlan> plans = options.plans_file
                                        ? parse_plans(read_text_file(*options.plans_file), *options.plans_file)
                                        : default_plans(options.effort);
    if (options.backend == "cuda") {
        for (VerifyPlan& plan : plans) {
            if (plan.comm == "threads") plan.comm = "virtual";
        }
        std::erase_if(plans, [](const VerifyPlan& plan) { return plan.comm == "mpi"; });
    }
    if (!options.comms.empty()) {
        std::erase_if(plans, [&](const VerifyPlan& plan) {
            return std::find(options.comms.begin(), options.comms.end(), plan.comm) == options.comms.end();
        });
    }
    if (plans.empty()) throw InputError("--comm", "", fmt::format("no plan uses {}", fmt::join(options.comms, ", ")));
    return plans;
}

/// A run on a GPU does not time its ops: kernels are timed by themselves. On processors messages and collectives are,
/// of sizes that plans to calibrate on do not have.
std::string benchmark_of(const VerifyOptions& options) {
    const char* needed = options.backend == "cuda" ? "quick" : "communication";
    if (options.effort == VerifyEffort::quick || options.plans_file)
        needed = options.backend == "cuda" ? "quick" : "none";
    const std::string wanted = options.benchmark.value_or(needed);
    return wanted == "none" ? "" : wanted;
}

RunSettings settings_for(const VerifyOptions& options, const std::filesystem::path& folder) {
    RunSettings settings;
    settings.program = find_program("foreshard-run", "FORESHARD_RUN");
    if (settings.program.empty()) {
        throw InputError("verify", "",
                         "foreshard-run was not found beside this program or in PATH; set FORESHARD_RUN to it (it is "
                         "built where Eigen is found)");
    }
    settings.mpirun = find_program("mpirun");
    settings.backend = options.backend;
    settings.pace = pace_of(options.effort);
    settings.pace.iterations = options.iterations.value_or(settings.pace.iterations);
    settings.pace.rounds = options.rounds.value_or(settings.pace.rounds);
    settings.budget_s = options.budget_s;
    settings.benchmark = benchmark_of(options);
    settings.folder = folder;
    return settings;
}

/// As the runtime takes its defaults: this machine, its own profile.
Job job_of(const PlanRuns& plan, const SharedCalibration& calibration) {
    JobRequest request = plan.request;
    request.calibration = calibration;
    request.software = request.software.value_or("foreshard");
    request.gpus = plan.ranks;
    return resolve(request);
}

void predict(const PlanRuns& plan, const std::map<std::string, SharedCalibration>& calibrations, ValidationRow& row) {
    const Job job = job_of(plan, calibrations.at(plan.plan.comm));
    const std::vector<BrokenRule> broken = check(job);
    if (!broken.empty()) {
        row.status = ValidationRow::Status::infeasible;
        row.reason = broken.front().rule;
        return;
    }
    row.axis = axis_of(job.plan);
    add_predicted(job, plan.measured, row);
}

ValidationRow row_of(const PlanRuns& plan, const std::map<std::string, SharedCalibration>& calibrations) {
    ValidationRow row;
    row.id = plan.plan.id;
    row.source = "this machine";
    row.comm = plan.plan.comm;
    if (plan.reports.empty()) {
        row.status = ValidationRow::Status::skipped;
        row.reason = plan.skipped.empty() ? "interrupted" : plan.skipped;
        return row;
    }
    row.status = plan.plan.calibrates ? ValidationRow::Status::calibration : ValidationRow::Status::ok;
    add_measured(plan.measured, row);
    predict(plan, calibrations, row);
    return row;
}

void write_plot(const std::string& file, const Validation& validation) {
    const bool page = file.ends_with(".html") || file.ends_with(".htm");
    write_output(file, page ? scatter_html(validation) : scatter_svg(validation));
}

void check_plot_name(const std::optional<std::string>& file) {
    if (!file || file->ends_with(".svg") || file->ends_with(".html") || file->ends_with(".htm")) return;
    throw InputError("--plot", "", fmt::format("'{}' must end in .svg or .html", *file));
}

void tell(const VerifyOptions& options, const Validation& validation) {
    if (options.json_file) write_output(*options.json_file, validation_json(validation));
    if (options.plot_file) write_plot(*options.plot_file, validation);
    if (options.json_file != "-") write_output("-", verification_text(validation));
}

}  // namespace

ExitCode run_verify(const VerifyOptions& options) {
    const std::vector<Threshold> thresholds = parse_thresholds(options.thresholds);
    for (const Threshold& threshold : thresholds) holds(threshold, verification_figures({}));  // throws for a typo
    check_plot_name(options.plot_file);
    const TemporaryFolder folder;
    const RunSettings settings = settings_for(options, folder.path());
    std::vector<PlanRuns> plans = prepare(plans_for(options));
    const InterruptAsked interrupt;
    const std::vector<std::filesystem::path> benchmarks = run_benchmarks(settings, plans, stop_asked);
    make_runs(settings, plans, stop_asked);
    const bool stopped = stop_asked.load();
    const bool calibrated = std::any_of(
        plans.begin(), plans.end(), [](const PlanRuns& plan) { return plan.plan.calibrates && !plan.reports.empty(); });
    if (stopped && !calibrated) {
        print_error("interrupted before a plan to calibrate on was measured");
        return interrupted;
    }
    const std::map<std::string, SharedCalibration> calibrations = calibrations_of(plans, benchmarks);
    if (options.calibration_file) write_calibrations(*options.calibration_file, calibrations);
    std::vector<ValidationRow> rows;
    rows.reserve(plans.size());
    for (const PlanRuns& plan : plans) rows.push_back(row_of(plan, calibrations));
    const Validation validation = summarised(std::move(rows));
    tell(options, validation);
    if (stopped) return interrupted;
    return report_missed(thresholds, verification_figures(validation)) ? threshold_missed : ok;
}

}  // namespace foreshard::cli
