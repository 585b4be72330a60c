#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"

namespace foreshard::cli {

struct ValidateOptions {
    std::vector<std::string> datasets;
    std::optional<std::string> json_file;
    std::optional<std::string> record_file;   ///< write the medians
    std::optional<std::string> against_file;  ///< fail when a median grew by more than 0.5 points over these
    std::vector<std::string> thresholds;
    bool rows = false;
    bool ablation = false;
};

/// Predicts published runs and prints the errors. @throws InputError, UnreadableFile
ExitCode run_validate(const ValidateOptions& options);

}  // namespace foreshard::cli
