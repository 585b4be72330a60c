#include "cli/calibrate.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "cli/output.hpp"
#include "cli/provenance.hpp"
#include "sim/fit/calibration_fit.hpp"
#include "sim/sim.hpp"
#include "sim/spec/catalogue.hpp"
#include "traces/read_measurements.hpp"

namespace foreshard::cli {

namespace {

std::string groups_text(const Calibration& calibration) {
    std::string text = fmt::format("{:<34} {:>6} {:>8} {:>8} {:>9} {:>8} {:>8}\n", "group", "points", "rejected", "R2",
                                   "median %", "P90 %", "bias %");
    for (const CalibrationResidual& group : calibration.residuals) {
        text += fmt::format("{:<34} {:>6} {:>8} {:>8.4f} {:>9.2f} {:>8.2f} {:>+8.2f}\n", group.group, group.points,
                            group.rejected, group.r2, group.median_abs_pct, group.p90_abs_pct, group.bias_pct);
    }
    return text;
}

}  // namespace

ExitCode run_calibrate(const CalibrateOptions& options) {
    Measurements measured;
    for (const std::string& file : options.inputs) {
        read_measurements(file, measured);
        measured.inputs.back().sha256 = file_sha256(file);
    }
    Calibration calibration = fit_calibration(measured, std::filesystem::path(options.output_file).stem().string());
    calibration.tool_version = version();
    write_output(options.output_file, calibration_text(calibration));
    if (options.output_file != "-") write_output("-", groups_text(calibration));
    return ok;
}

}  // namespace foreshard::cli
