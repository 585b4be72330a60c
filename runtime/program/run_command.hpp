#pragma once

#include "cli/exit_code.hpp"
#include "runtime/program/run_options.hpp"

namespace foreshard::runtime {

/// Runs a job for real. @throws InputError, UnreadableFile
cli::ExitCode run_job(const RunOptions& options);

}  // namespace foreshard::runtime
