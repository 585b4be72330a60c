#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/megatron_flags.hpp"
#include "sim/spec/job_request.hpp"

/// JOB FLAGS: the flags that describe a job, the same for every command.
namespace foreshard::cli {

struct JobFlags {
    std::optional<std::string> job_file;  ///< --job: a file, or an id of the catalogue of plans
    JobRequest request;                   ///< everything else; wins over the file
    MegatronFlags megatron;               ///< see requested()
};

/// The program's arguments with "--micro_batch_size" spelled "--micro-batch-size". Values are left alone.
std::vector<std::string> normalised_arguments(int count, const char* const* arguments);

/// Declares all job flags on a command; parsing fills `flags`, which must outlive it.
void add_job_flags(CLI::App& command, JobFlags& flags);

/// Declares --help as the first option and lets unknown flags through to refuse_extras.
void prepare_command(CLI::App& command);

/// @throws InputError naming the first argument that no command or flag takes, and the closest flag
void refuse_extras(const CLI::App& app);

/// What the flags ask for, those of Megatron-LM translated; without what the file says.
/// @throws InputError where they contradict each other, the model or the software
JobRequest requested(const JobFlags& flags);

/// File and flags together. @throws InputError, UnreadableFile
JobRequest request_from(const JobFlags& flags);

/// File, flags and defaults together. @throws InputError, UnreadableFile
Job job_from(const JobFlags& flags);

}  // namespace foreshard::cli
