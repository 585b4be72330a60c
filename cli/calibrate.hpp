#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"

/// `foreshard calibrate`: a calibration from what was measured.
namespace foreshard::cli {

struct CalibrateOptions {
    std::vector<std::string> inputs;
    std::string output_file;
};

/// @throws InputError, UnreadableFile
ExitCode run_calibrate(const CalibrateOptions& options);

}  // namespace foreshard::cli
