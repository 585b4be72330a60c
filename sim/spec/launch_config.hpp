#pragma once

#include <string>
#include <vector>

#include "sim/spec/job.hpp"

/// The settings with which training programs run a job's plan.
namespace foreshard {

struct LaunchConfig {
    std::vector<std::string> lines;          ///< an argument with its value, or a line of a file
    std::vector<std::string> notes;          ///< what to know beside: which script, how many processes
    std::vector<std::string> not_expressed;  ///< "name value: why": the program then does something else
    std::vector<BrokenRule> refused;         ///< not empty: the program cannot run this plan at all
};

/// Arguments of Megatron-LM. Names are those of megatron/training/arguments.py (2025), which foreshard's own flags
/// accept too. Data, tokenizer and optimizer are not a plan's.
/// Precondition: check(job) is empty, and the plan's layers are not to be balanced any more.
LaunchConfig megatron_args(const Job& job);

/// A job file of torchtitan: keys of torchtitan/config/job_config.py (2025).
/// Precondition: as above.
LaunchConfig torchtitan_config(const Job& job);

/// Notes and what is not expressed as comments ("# ..."), then the lines.
std::string to_text(const LaunchConfig& config);

}  // namespace foreshard
