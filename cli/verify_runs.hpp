#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/spec/job_request.hpp"
#include "sim/validate/verification.hpp"

/// The runs of foreshard-run that `foreshard verify` makes.
namespace foreshard::cli {

/// A plan with what is known of it.
struct PlanRuns {
    VerifyPlan plan;
    JobRequest request;
    int ranks = 1;
    MeasuredPlan measured;
    std::vector<std::filesystem::path> reports;
    std::string skipped;  ///< why it was not run, or not to its end; empty: it was
};

struct RunSettings {
    std::string program;  ///< foreshard-run
    std::string mpirun;   ///< empty: none was found
    std::string backend;
    VerifyPace pace;
    double budget_s = 0.0;
    std::string benchmark;         ///< foreshard-run --calibrate: before all runs; empty: none
    std::filesystem::path folder;  ///< for reports
};

/// Reads the flags of each plan. @throws InputError naming the plan
std::vector<PlanRuns> prepare(const std::vector<VerifyPlan>& plans);

/// Times kernels and communication by themselves, once for every way of communication of a plan, on the first plan with
/// messages (a pipeline), or else on the first with several ranks. Where one fails, that is told on stderr.
/// @return files of foreshard-run --calibrate
std::vector<std::filesystem::path> run_benchmarks(const RunSettings& settings, const std::vector<PlanRuns>& plans,
                                                  const std::atomic<bool>& stop);

/// Runs all plans, round by round and every other round backwards, so that a machine that slows down slows all alike.
/// Tells progress on stderr. Ends early when `stop` is set or the budget is spent.
void make_runs(const RunSettings& settings, std::vector<PlanRuns>& plans, const std::atomic<bool>& stop);

}  // namespace foreshard::cli
