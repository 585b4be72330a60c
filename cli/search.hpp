#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/flags.hpp"
#include "sim/spec/operating_figures.hpp"

namespace foreshard::cli {

struct SearchOptions {
    JobFlags job;
    std::map<std::string, std::string> constraints;  ///< by axis
    std::vector<std::string> fixed;                  ///< key=value
    std::string space = "default";
    std::optional<std::string> gpus;     ///< numbers, lists and ranges, as those that follow
    std::optional<std::string> nodes;    ///< in place of gpus
    std::optional<std::string> batches;  ///< global batch sizes
    std::string objective = "step-time";
    OperatingFigures operation;
    std::optional<double> train_tokens;
    std::optional<double> max_memory_gib;
    int top = 10;
    std::int64_t max_simulated = 0;     ///< 0: as many as it takes
    std::optional<double> max_gap_pct;  ///< absent: until all that could be better is simulated
    int threads = 0;
    bool exhaustive = false;
    bool explain = true;       ///< simulate the neighbours of the best plan
    bool sensitivity = false;  ///< search again on scaled hardware
    bool verbose = false;      ///< found plans on stderr, terminal or not
    bool no_relax = false;
    std::optional<std::string> json_file;
    std::optional<std::string> csv_file;
    std::optional<std::string> jsonl_file;
};

/// Declares the job flags, with lists of values for the axes of the search, and the search's own flags.
void add_search_flags(CLI::App& command, SearchOptions& options);

/// The best plans, on stdout; progress on stderr where it is a terminal. @throws InputError, UnreadableFile
ExitCode run_search(const SearchOptions& options);

}  // namespace foreshard::cli
