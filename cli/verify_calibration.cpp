#include "cli/verify_calibration.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "cli/output.hpp"
#include "cli/provenance.hpp"
#include "sim/error.hpp"
#include "sim/fit/calibration_fit.hpp"
#include "sim/sim.hpp"
#include "sim/spec/catalogue.hpp"
#include "traces/read_measurements.hpp"

namespace foreshard::cli {

namespace {

/// Appends points, which keep to say which input they are of.
template <class Point>
void append(std::vector<Point> points, int inputs_before, std::vector<Point>& all) {
    for (Point& point : points) point.origin.input += inputs_before;
    all.insert(all.end(), points.begin(), points.end());
}

template <class Value>
void append_values(const std::vector<Value>& values, std::vector<Value>& all) {
    all.insert(all.end(), values.begin(), values.end());
}

enum class Communication { taken, left };

void add(const Measurements& run, Communication communication, Measurements& all) {
    const auto inputs = static_cast<int>(all.inputs.size());
    if (all.machine.dtype.empty()) all.machine = run.machine;
    if (!all.cluster) all.cluster = run.cluster;
    append(run.ops, inputs, all.ops);
    append(run.optimizer, inputs, all.optimizer);
    append_values(run.launch_us, all.launch_us);
    append_values(run.pass_overhead_us, all.pass_overhead_us);
    append_values(run.rejected, all.rejected);
    append_values(run.inputs, all.inputs);
    if (communication == Communication::left) return;
    append(run.communication, inputs, all.communication);
    append(run.overlap, inputs, all.overlap);
    append_values(run.step_overhead_us, all.step_overhead_us);
    append_values(run.wakeup_us, all.wakeup_us);
    append_values(run.rank_wait_ratio, all.rank_wait_ratio);
}

struct Read {
    std::string comm;
    Measurements measured;
};

std::vector<Read> read_runs(const std::vector<PlanRuns>& plans) {
    std::vector<Read> runs;
    for (const PlanRuns& plan : plans) {
        if (!plan.plan.calibrates) continue;
        for (const std::filesystem::path& report : plan.reports) {
            Read run{plan.plan.comm, {}};
            read_measurements(report.string(), run.measured);
            run.measured.inputs.back().sha256 = file_sha256(report.string());
            run.measured.inputs.back().file = report.filename().string();
            runs.push_back(std::move(run));
        }
    }
    return runs;
}

Measurements measurements_for(const std::string& comm, const std::vector<Read>& runs) {
    const bool own = std::any_of(runs.begin(), runs.end(), [&](const Read& run) { return run.comm == comm; });
    Measurements all;
    for (const Read& run : runs) {
        add(run.measured, !own || run.comm == comm ? Communication::taken : Communication::left, all);
    }
    all.machine.comm = comm;
    return all;
}

}  // namespace

std::map<std::string, SharedCalibration> calibrations_of(const std::vector<PlanRuns>& plans) {
    const std::vector<Read> runs = read_runs(plans);
    if (runs.empty()) {
        std::string reasons;
        for (const PlanRuns& plan : plans) {
            if (plan.plan.calibrates) reasons += fmt::format("; {}: {}", plan.plan.flags, plan.skipped);
        }
        throw InputError("verify", "", "no plan to calibrate on ran to its end" + reasons);
    }
    std::map<std::string, SharedCalibration> all;
    for (const PlanRuns& plan : plans) {
        const std::string& comm = plan.plan.comm;
        if (all.contains(comm) || plan.reports.empty()) continue;
        Calibration calibration = fit_calibration(measurements_for(comm, runs), "verify-" + comm);
        calibration.tool_version = version();
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
