#include "cli/verify_calibration.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "cli/output.hpp"
#include "cli/provenance.hpp"
#include "cli/step_band.hpp"
#include "sim/error.hpp"
#include "sim/fit/calibration_fit.hpp"
#include "sim/fit/merge.hpp"
#include "sim/sim.hpp"
#include "sim/spec/catalogue.hpp"
#include "traces/read_measurements.hpp"

namespace foreshard::cli {

namespace {

Measurements read_file(const std::filesystem::path& file) {
    Measurements measured;
    read_measurements(file.string(), measured);
    measured.inputs.back().sha256 = file_sha256(file.string());
    measured.inputs.back().file = file.filename().string();
    return measured;
}

/// Reports of the plans to calibrate on, and benchmarks. Ops by themselves are only taken where no run timed its own: a
/// kernel that runs again and again finds its tensors in the cache.
std::vector<Measurements> read_runs(const std::vector<PlanRuns>& plans,
                                    const std::vector<std::filesystem::path>& benchmarks) {
    std::vector<Measurements> runs;
    for (const PlanRuns& plan : plans) {
        if (!plan.plan.calibrates) continue;
        for (const std::filesystem::path& report : plan.reports) runs.push_back(read_file(report));
    }
    const bool timed = std::any_of(runs.begin(), runs.end(), [](const Measurements& run) { return !run.ops.empty(); });
    for (const std::filesystem::path& file : benchmarks) {
        Measurements bench = read_file(file);
        if (timed) {
            bench.ops.clear();
            bench.optimizer.clear();
        }
        runs.push_back(std::move(bench));
    }
    return runs;
}

std::vector<const Measurements*> all_of(const std::vector<Measurements>& runs) {
    std::vector<const Measurements*> all;
    all.reserve(runs.size());
    for (const Measurements& run : runs) all.push_back(&run);
    return all;
}

Calibration fit_for(const std::vector<const Measurements*>& runs, const std::string& comm) {
    return fit_calibration(merged(runs, comm), "verify-" + comm);
}

/// Reasons why no plan to calibrate on has a report.
std::string missing_reports(const std::vector<PlanRuns>& plans) {
    std::string reasons;
    for (const PlanRuns& plan : plans) {
        if (plan.plan.calibrates) reasons += fmt::format("; {}: {}", plan.plan.flags, plan.skipped);
    }
    return "no plan to calibrate on ran to its end" + reasons;
}

bool calibrated_on_any(const std::vector<PlanRuns>& plans) {
    return std::any_of(plans.begin(), plans.end(),
                       [](const PlanRuns& plan) { return plan.plan.calibrates && !plan.reports.empty(); });
}

}  // namespace

std::map<std::string, SharedCalibration> calibrations_of(const std::vector<PlanRuns>& plans,
                                                         const std::vector<std::filesystem::path>& benchmarks) {
    if (!calibrated_on_any(plans)) throw InputError("verify", "", missing_reports(plans));
    const std::vector<Measurements> runs = read_runs(plans, benchmarks);
    const std::optional<CalibrationBand> band = step_band(runs, fit_for);
    std::map<std::string, SharedCalibration> all;
    for (const PlanRuns& plan : plans) {
        const std::string& comm = plan.plan.comm;
        if (all.contains(comm) || plan.reports.empty()) continue;
        Calibration calibration = fit_for(all_of(runs), comm);
        calibration.tool_version = version();
        calibration.step_band = band;
        all[comm] = std::make_shared<const Calibration>(std::move(calibration));
    }
    return all;
}

void write_calibrations(const std::string& file, const std::map<std::string, SharedCalibration>& calibrations) {
    // Threads are the default, and come first.
    std::set<std::string> others;
    for (const auto& [comm, calibration] : calibrations) others.insert(comm);
    const std::string first = others.contains("threads") ? "threads" : *others.begin();
    for (const auto& [comm, calibration] : calibrations) {
        std::filesystem::path path(file);
        if (comm != first) {
            path.replace_filename(path.stem().string() + "-" + comm + path.extension().string());
        }
        Calibration named = *calibration;
        named.id = path.stem().string();
        named.name = named.id;
        write_output(path.string(), calibration_text(named));
    }
}

}  // namespace foreshard::cli
