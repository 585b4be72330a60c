#pragma once

#include <string>

#include "cli/exit_code.hpp"
#include "cli/flags.hpp"

/// Writes what was planned in formats of other programs.
namespace foreshard::cli {

struct ExportOptions {
    JobFlags job;
    std::string format = "schedule-csv";
    std::string output_file = "-";
};

/// schedule-csv: the grid of actions, as --schedule-file and torch.distributed.pipelining read it. megatron-args,
/// torchtitan: the settings with which these programs run the plan; a plan that they cannot run is infeasible.
/// @throws InputError, UnreadableFile
ExitCode run_export(const ExportOptions& options);

}  // namespace foreshard::cli
