#pragma once

#include <stop_token>

#include "sim/engine/evaluate.hpp"

/// Uneven pipelines: the split of layers over stages that minimises the step.
namespace foreshard {

/// The split that a descent finds: first the smallest load of the busiest rank, then single layers moved between stages
/// while the step gets shorter, by dry runs of the schedule under predicted pass times and at last by the engine. Every
/// stage between the ends keeps a layer. Deterministic; equal to brute force in small spaces (tests). Precondition:
/// check(job) is empty and the job has no stage times.
/// @param stop looked at before every split that is tried
/// @throws Stopped
std::vector<StageContents> balanced_layout(const Job& job, const std::stop_token& stop = {});

/// Simulates the even and the balanced split and returns the faster one that fits (the faster one when none does), with
/// Report::balance saying what was gained. Precondition: as balanced_layout.
Evaluation evaluate_balanced(const Job& job, const std::stop_token& stop = {});

}  // namespace foreshard
