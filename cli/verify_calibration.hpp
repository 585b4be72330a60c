#pragma once

#include <map>
#include <string>

#include "cli/verify_runs.hpp"
#include "sim/spec/calibration.hpp"

/// From the runs of `foreshard verify` to calibrations.
namespace foreshard::cli {

/// A calibration for every way of communication that was measured: ops and what lies between them are of all runs to
/// calibrate on, since ranks compute alike; messages and collectives of the runs and benchmarks with that
/// communication, or of all where it has none. The band of whole steps is of the plans to calibrate on, each predicted
/// without itself. @throws InputError when no run to calibrate on came to its end
std::map<std::string, SharedCalibration> calibrations_of(const std::vector<PlanRuns>& plans,
                                                         const std::vector<std::filesystem::path>& benchmarks);

/// Writes each; those behind the first have "-COMM" in front of the file's ending. @throws InputError
void write_calibrations(const std::string& file, const std::map<std::string, SharedCalibration>& calibrations);

}  // namespace foreshard::cli
