#pragma once

#include <string>
#include <vector>

#include "sim/spec/job.hpp"

/// What a report says was assumed.
namespace foreshard {

/// What the schedule's kind implies, in words.
std::vector<std::string> schedule_assumptions(const Job& job);

/// What the model assumes of every job, in words.
std::vector<std::string> model_assumptions(const Job& job);

}  // namespace foreshard
