#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"

/// `foreshard compare A B...`: why the step of one run is longer than that of another.
namespace foreshard::cli {

struct CompareOptions {
    std::vector<std::string> inputs;  ///< plan ids, or files: job, report, trace; the first is compared with each other
    std::optional<std::string> json_file;
    std::optional<std::string> regression;  ///< "2%": exit 5 when another step is longer by more
};

/// @throws InputError, UnreadableFile
ExitCode run_compare(const CompareOptions& options);

/// "2%", "2" and "0.5 %" in percent. @throws InputError
double parse_percent(const std::string& text, const std::string& flag);

}  // namespace foreshard::cli
