#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "sim/validate/verify_plans.hpp"

/// `foreshard verify`: runs plans on this machine, calibrates on some, and predicts the others.
namespace foreshard::cli {

struct VerifyOptions {
    std::string backend = "cpu";
    std::vector<std::string> comms;  ///< ways of communication to try; empty: all that plans name
    VerifyEffort effort = VerifyEffort::full;
    std::optional<std::string> plans_file;
    std::optional<int> iterations;
    std::optional<int> rounds;
    double budget_s = 480.0;               ///< no run starts after it
    std::optional<std::string> benchmark;  ///< none, communication, quick or full; absent: as the backend needs
    std::optional<std::string> json_file;
    std::optional<std::string> plot_file;
    std::optional<std::string> calibration_file;
    std::vector<std::string> thresholds;
};

/// Exit 0 whatever the errors, 5 when a threshold is missed, 130 when interrupted: what was measured by then is told.
/// @throws InputError, UnreadableFile
ExitCode run_verify(const VerifyOptions& options);

}  // namespace foreshard::cli
