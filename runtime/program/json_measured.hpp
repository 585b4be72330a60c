#pragma once

#include <string>

#include "runtime/environment.hpp"
#include "runtime/measurement.hpp"
#include "runtime/program/run_options.hpp"

/// What a run adds to the report's JSON (docs/formats.md).
namespace foreshard::runtime {

/// Everything that is known of a run.
struct RunReport {
    const RunOptions& options;
    const Plan& plan;
    const TrainOptions& train;
    const Outcome& outcome;
    const Environment& environment;
    const Measurement* measurement = nullptr;  ///< absent after a failure
};

/// The report of the measured timeline with `measured`, and with `check` where it was asked for.
std::string with_measured(const std::string& report, const RunReport& run);

/// After a failure there is no whole step to report on: the steps that were finished, and what happened.
std::string failure_json(const RunReport& run);

/// As foreshard simulate --stage-times reads it.
std::string stage_times_json(const StageTimes& times);

}  // namespace foreshard::runtime
