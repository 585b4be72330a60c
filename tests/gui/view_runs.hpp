#pragma once

#include "sim/result/run.hpp"
#include "sim/spec/job_request.hpp"

/// Runs that views are tested with.
namespace foreshard::gui::test {

/// A run, in tests, where `Run` is a function of GoogleTest.
using StepRun = foreshard::Run;

/// A plan of the catalogue, simulated; each is computed once.
const Run& catalogueRun(const std::string& plan);

/// A request, simulated.
Run runOf(const std::string& name, const JobRequest& request);

/// GPT-3 175B on 64 GPUs as the catalogue has it but without recomputation: some of its ranks do not fit.
const Run& runThatDoesNotFit();

}  // namespace foreshard::gui::test
