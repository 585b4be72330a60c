#pragma once

#include <string>
#include <vector>

#include "sim/search/sweep.hpp"

/// A sweep as text.
namespace foreshard {

/// The scaling curve, the best plans of all sizes, their fronts, what explains the best, what has no plan and why, and
/// the flags of the best.
std::string sweep_text(const SweepOutcome& result);

/// "64 GPUs, batch 256: best so far ...": a plan as it is found.
std::string sweep_improvement_text(const SweepPoint& point, const Improvement& improvement);

/// One plan a line, sizes in order and the best of each first, as search_csv has it behind columns of the size; a line
/// with a reason for a size without one.
std::string sweep_csv(const SweepOutcome& result);

/// What is needed for a plan where no size has one, a line each; empty where some have.
std::vector<std::string> sweep_advice(const SweepOutcome& result);

}  // namespace foreshard
