#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/spec/job.hpp"
#include "sim/validate/dataset.hpp"

/// Predictions of published runs, and how far they are off.
namespace foreshard {

/// Peak of one rank.
struct RankPeak {
    int rank = 0;
    ByteCount measured = 0;
    ByteCount predicted = 0;
};

struct ValidationRow {
    /// calibration: predicted, but from laws that were fitted to it, so that it does not count.
    enum class Status { ok, calibration, skipped, infeasible };
    std::string id;
    std::string source;
    Status status = Status::ok;
    std::string reason;  ///< why skipped or infeasible, or why the row is doubted
    bool doubted = false;
    std::optional<double> measured_step_s;
    std::optional<double> predicted_step_s;
    std::string memory_kind;  ///< allocated, reserved, device, unknown
    std::optional<double> measured_memory_bytes;
    std::optional<double> predicted_memory_bytes;  ///< of the same kind; device for unknown
    std::optional<bool> measured_oom;
    std::string predicted_verdict;
    std::vector<std::string> assumptions;

    // Of runs that foreshard made itself.
    std::string comm;  ///< threads, mpi, ...
    std::string axis;  ///< of the plan's parallelism: dp, tp, pp, tp-pp, ...; none
    int steps = 0;     ///< that the measured time is the median of
    std::optional<double> measured_p10_s;
    std::optional<double> measured_p90_s;
    std::optional<double> measured_bubble_ratio;
    std::optional<double> predicted_bubble_ratio;
    std::vector<RankPeak> ranks;

    /// 100 x (predicted / measured - 1); absent without both.
    std::optional<double> step_error_pct() const;
    /// Where ranks are known, of the rank that is furthest off.
    std::optional<double> memory_error_pct() const;
    /// Percentage points: 100 x (predicted - measured ratio).
    std::optional<double> bubble_error_points() const;
};

struct ErrorSummary {
    int rows = 0;
    double median_abs_pct = 0.0;
    double mean_abs_pct = 0.0;
    double p90_abs_pct = 0.0;
    double max_abs_pct = 0.0;
    double bias_pct = 0.0;  ///< mean of signed errors
};
ErrorSummary summarise(std::vector<double> errors_pct);

struct ValidationSummary {
    ErrorSummary step_time;
    std::map<std::string, ErrorSummary> memory;  ///< by kind, and "all"
    ErrorSummary bubble;                         ///< in percentage points
    int oom_rows = 0;
    int oom_correct = 0;
};

struct Validation {
    std::vector<ValidationRow> rows;
    ValidationSummary summary;  ///< without doubted rows
    ValidationSummary with_doubted;
    std::map<std::string, ValidationSummary> by_source;  ///< without doubted rows, as the two that follow
    std::map<std::string, ValidationSummary> by_comm;    ///< of rows that name theirs
    std::map<std::string, ValidationSummary> by_axis;
};

/// A change of the job before it is simulated, for ablations.
using JobChange = std::function<void(Job&)>;

/// Rows with the summaries of those that are ok.
Validation summarised(std::vector<ValidationRow> rows);

/// Predicts every row. Never throws because of a row: what cannot be simulated is skipped with its reason.
Validation validate(const std::vector<PublishedRun>& runs, const JobChange& change = {});

/// Effects that can be switched off, with what switching them off does.
struct Ablation {
    std::string name;
    JobChange change;
};
const std::vector<Ablation>& ablations();

}  // namespace foreshard
