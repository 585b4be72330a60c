#include "cli/calibrate.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/output.hpp"
#include "cli/provenance.hpp"
#include "cli/step_band.hpp"
#include "sim/error.hpp"
#include "sim/fit/calibration_fit.hpp"
#include "sim/fit/holdout.hpp"
#include "sim/fit/kernel_csv.hpp"
#include "sim/fit/kernel_fit.hpp"
#include "sim/fit/merge.hpp"
#include "sim/sim.hpp"
#include "sim/spec/catalogue.hpp"
#include "traces/read_measurements.hpp"

namespace foreshard::cli {

namespace {

std::string row_text(const CalibrationResidual& group) {
    const std::string r2 = group.r2 ? fmt::format("{:.4f}", *group.r2) : "-";
    return fmt::format("{:<30} {:>6} {:>5} {:>8} {:>7.2f} {:>7.2f} {:>+7.2f}", group.group, group.points,
                       group.rejected, r2, group.median_abs_pct, group.p90_abs_pct, group.bias_pct);
}

/// "1e+04: 2.1 %" for each decade of sizes.
std::string sizes_text(const CalibrationResidual& group) {
    std::string text;
    for (const CalibrationResidual::Size& size : group.sizes) {
        text += fmt::format("{}{:.0e} {:.1f}", text.empty() ? "" : ", ", size.from, size.median_abs_pct);
    }
    return text;
}

std::string groups_text(const std::vector<CalibrationResidual>& groups, const std::string& title) {
    std::string text = fmt::format("{:<30} {:>6} {:>5} {:>8} {:>7} {:>7} {:>7}   {}\n", title, "points", "out", "R2",
                                   "median%", "P90 %", "bias %", "median % by size (from)");
    for (const CalibrationResidual& group : groups) text += row_text(group) + "   " + sizes_text(group) + "\n";
    return text;
}

std::string bands_text(const Calibration& calibration) {
    std::string text;
    std::vector<CalibrationBand> bands = calibration.bands;
    if (calibration.step_band) bands.push_back(*calibration.step_band);
    for (const CalibrationBand& band : bands) {
        text += fmt::format("{:<30} {:>6}       p10 {:.3f}, p90 {:.3f}\n", band.group, band.points, band.p10_ratio,
                            band.p90_ratio);
    }
    return text.empty() ? text : "\nmeasured over predicted time\n" + text;
}

std::string rejected_text(const Calibration& calibration) {
    if (calibration.rejected.empty()) return "\nno value was rejected\n";
    std::string text = fmt::format("\n{} values were rejected\n", calibration.rejected.size());
    for (const RejectedPoint& point : calibration.rejected) {
        text +=
            fmt::format("{}:{}: {}, {:.6g} us: {}\n", point.input, point.row, point.what, point.time_us, point.reason);
    }
    return text;
}

std::string holdout_text(const Measurements& measured) {
    const HoldOut halves = hold_out(measured);
    const Calibration fitted = fit_calibration(halves.kept, "kept");
    return "\n" + groups_text(errors_at(fitted, halves.held), "held out, not fitted");
}

/// CSV files of kernel times become one table.
class KernelFiles {
public:
    /// False for a file of another kind.
    bool take(const std::string& file, Measurements& into);
    void fit(const std::optional<std::string>& device, const std::string& id, Measurements& into) const;

private:
    std::optional<std::string> gemm_;
    std::optional<std::string> attention_;
};

bool KernelFiles::take(const std::string& file, Measurements& into) {
    const KernelCsv kind = kernel_csv_kind(file);
    if (kind == KernelCsv::none) return false;
    std::optional<std::string>& place = kind == KernelCsv::gemm ? gemm_ : attention_;
    if (place) throw InputError(file, "", fmt::format("{} holds times of the same kernel; give one file", *place));
    place = file;
    into.inputs.push_back({.file = file, .kind = "kernel-csv"});
    return true;
}

void KernelFiles::fit(const std::optional<std::string>& device, const std::string& id, Measurements& into) const {
    if (!gemm_ && !attention_) return;
    if (!gemm_) throw InputError(*attention_, "", "attention times go with GEMM times; give a CSV with m, n and k too");
    if (!device) throw InputError("--device", "", fmt::format("needed for {}: the device that was measured", *gemm_));
    into.kernels = fit_kernels({.id = id, .gemm_file = *gemm_, .attention_file = attention_}, load_device(*device));
    if (into.machine.dtype.empty()) into.machine.dtype = "bf16";
}

std::string id_of(const CalibrateOptions& options) {
    if (!options.output_file || *options.output_file == "-") return "calibration";
    return std::filesystem::path(*options.output_file).stem().string();
}

/// The same files, each by itself.
std::vector<Measurements> read_each(const CalibrateOptions& options, const Measurements& all) {
    std::vector<Measurements> inputs;
    for (const std::string& file : options.inputs) {
        if (kernel_csv_kind(file) != KernelCsv::none) continue;
        Measurements& own = inputs.emplace_back();
        read_measurements(file, own);
        own.cluster = all.cluster;
        own.kernels = all.kernels;
    }
    return inputs;
}

Measurements read_inputs(const CalibrateOptions& options) {
    Measurements measured;
    KernelFiles kernels;
    for (const std::string& file : options.inputs) {
        if (!kernels.take(file, measured)) read_measurements(file, measured);
        measured.inputs.back().sha256 = file_sha256(file);
    }
    kernels.fit(options.device, id_of(options), measured);
    if (options.cluster) measured.cluster = load_cluster(*options.cluster);
    return measured;
}

}  // namespace

ExitCode run_calibrate(const CalibrateOptions& options) {
    if (!options.output_file && !options.json_file) {
        throw InputError("--output", "", "name the file to write, or '-' for standard output");
    }
    const Measurements measured = read_inputs(options);
    Calibration calibration = fit_calibration(measured, id_of(options));
    calibration.tool_version = version();
    calibration.step_band = step_band(read_each(options, measured), [&](const auto& inputs, const std::string& comm) {
        return fit_calibration(merged(inputs, comm), id_of(options));
    });
    const std::string text = calibration_text(calibration);
    if (options.output_file) write_output(*options.output_file, text);
    if (options.json_file) write_output(*options.json_file, text);
    if (options.output_file == "-" || options.json_file == "-") return ok;
    std::string tables =
        groups_text(calibration.residuals, "group") + bands_text(calibration) + rejected_text(calibration);
    if (options.holdout) tables += holdout_text(measured);
    write_output("-", tables);
    return ok;
}

}  // namespace foreshard::cli
