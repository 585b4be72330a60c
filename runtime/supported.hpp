#pragma once

#include <string_view>
#include <vector>

#include "runtime/element.hpp"
#include "sim/spec/job.hpp"

namespace foreshard::runtime {

/// Software profiles that describe the runtime itself: foreshard, and foreshard-flash with flash attention.
bool is_own_profile(std::string_view software);

/// What the runtime cannot execute of a job that can be simulated, with the nearest that it can. Empty: all of it.
std::vector<BrokenRule> unsupported(const Job& job, ElementType type = ElementType::fp32);

/// Of the plan whose tensors are of this type: fp64 is for checks of plans in fp32.
Precision plan_precision(ElementType type);

}  // namespace foreshard::runtime
