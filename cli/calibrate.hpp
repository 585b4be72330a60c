#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"

/// `foreshard calibrate`: a calibration from what was measured.
namespace foreshard::cli {

struct CalibrateOptions {
    std::vector<std::string> inputs;
    std::optional<std::string> output_file;
    std::optional<std::string> json_file;  ///< the same file; '-' is standard output
    std::optional<std::string> device;     ///< of CSV files of kernel times
    std::optional<std::string> cluster;    ///< in place of the inputs' own
    bool holdout = false;
};

/// @throws InputError, UnreadableFile
ExitCode run_calibrate(const CalibrateOptions& options);

}  // namespace foreshard::cli
