#pragma once

#include <string>
#include <vector>

#include "sim/spec/job.hpp"

namespace foreshard {

/// Everything that a resolved job says, a line per value: "tp 8", "global_batch_size 1536", "model.hidden_size 12288".
/// The name is the key in the job's JSON (docs/formats.md), without `plan` and `batch`; it ends at the first space.
/// Model, cluster, GPUs, software, batch and plan come first, then what they are made of.
std::vector<std::string> job_settings(const Job& job);

}  // namespace foreshard
