#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/flags.hpp"

namespace foreshard::cli {

struct SearchOptions {
    JobFlags job;
    std::map<std::string, std::string> constraints;  ///< by axis
    std::vector<std::string> fixed;                  ///< key=value
    std::string space = "default";
    std::string objective = "step-time";
    std::optional<double> max_memory_gib;
    int top = 10;
    int threads = 0;
    bool exhaustive = false;
    bool no_relax = false;
    std::optional<int> nodes;
    std::optional<std::string> json_file;
    std::optional<std::string> csv_file;
};

/// Declares the job flags, with lists of values for the axes of the search, and the search's own flags.
void add_search_flags(CLI::App& command, SearchOptions& options);

/// The best plans, on stdout; progress on stderr where it is a terminal. @throws InputError, UnreadableFile
ExitCode run_search(const SearchOptions& options);

}  // namespace foreshard::cli
