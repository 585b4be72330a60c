#pragma once

#include <string>
#include <vector>

#include "sim/validate/validate.hpp"
#include "sim/validate/verify_plans.hpp"

/// Predicted against measured, of runs of foreshard-run on this machine.
namespace foreshard {

/// Of one plan, over all its runs.
struct MeasuredPlan {
    struct Rank {
        int pp = 0;
        ByteCount high_water = 0;  ///< largest of all runs
    };
    std::vector<double> step_ms;       ///< every step after the warm-up
    std::vector<double> bubble_ratio;  ///< of each run's median step
    std::vector<Rank> ranks;
};

/// Adds a run's report (foreshard-run --json). @throws InputError naming `source`
void add_measured_run(const std::string& report, const std::string& source, MeasuredPlan& plan);

/// "dp", "tp", "tp-pp", ...: axes with more than one rank; "none" for one rank.
std::string axis_of(const ParallelPlan& plan);

/// Fills what was measured. Without steps the row is left as it is.
void add_measured(const MeasuredPlan& measured, ValidationRow& row);

/// Fills what the model says of the job: step time, bubble, and the peak memory of every rank that was measured.
void add_predicted(const Job& job, const MeasuredPlan& measured, ValidationRow& row);

/// The table of `foreshard verify`: a line per plan, and medians by axis and way of communication.
std::string verification_text(const Validation& validation);

/// The summary as figures of --fail-if: step_time_median_abs_pct, step_time_max_abs_pct, bubble_max_abs_points,
/// memory_max_abs_pct, rows, ...
std::map<std::string, double> verification_figures(const Validation& validation);

}  // namespace foreshard
