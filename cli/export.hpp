#pragma once

#include <optional>
#include <string>

#include "cli/exit_code.hpp"
#include "cli/flags.hpp"

/// Writes what was planned in formats of other programs.
namespace foreshard::cli {

struct ExportOptions {
    JobFlags job;
    std::optional<std::string> search_file;  ///< takes the plan in place of a job file
    std::optional<int> rank;                 ///< of the plan in the search, from 1; absent: 1
    std::string format = "schedule-csv";
    std::string output_file = "-";
};

/// schedule-csv: the grid of actions, as --schedule-file and torch.distributed.pipelining read it. megatron-args,
/// torchtitan: the settings with which these programs run the plan; a plan that they cannot run is infeasible. The plan
/// is that of the job flags, or one that a search found, with what the flags change of it.
/// @throws InputError, UnreadableFile
ExitCode run_export(const ExportOptions& options);

}  // namespace foreshard::cli
