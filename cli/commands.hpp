#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/flags.hpp"

/// The commands that simulate a job. Results go to stdout, messages to stderr.
namespace foreshard::cli {

enum class View { simulate, memory, explain };

struct RunOptions {
    JobFlags job;
    std::optional<std::string> json_file;  ///< "-": standard output, and nothing else there
    std::optional<std::string> trace_file;
    std::vector<std::string> thresholds;
    std::string command;  ///< as typed, for provenance
};

/// @throws InputError, UnreadableFile
ExitCode run(View view, const RunOptions& options);

}  // namespace foreshard::cli
