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

struct ValidationRow {
    enum class Status { ok, skipped, infeasible };
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

    /// 100 x (predicted / measured - 1); absent without both.
    std::optional<double> step_error_pct() const;
    std::optional<double> memory_error_pct() const;
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
    int oom_rows = 0;
    int oom_correct = 0;
};

struct Validation {
    std::vector<ValidationRow> rows;
    ValidationSummary summary;  ///< without doubted rows
    ValidationSummary with_doubted;
    std::map<std::string, ValidationSummary> by_source;  ///< without doubted rows
};

/// A change of the job before it is simulated, for ablations.
using JobChange = std::function<void(Job&)>;

/// Predicts every row. Never throws because of a row: what cannot be simulated is skipped with its reason.
Validation validate(const std::vector<PublishedRun>& runs, const JobChange& change = {});

/// Effects that can be switched off, with what switching them off does.
struct Ablation {
    std::string name;
    JobChange change;
};
const std::vector<Ablation>& ablations();

}  // namespace foreshard
