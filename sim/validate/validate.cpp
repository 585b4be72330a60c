#include "sim/validate/validate.hpp"

#include <algorithm>
#include <cmath>

#include "sim/engine/evaluate.hpp"
#include "sim/error.hpp"
#include "sim/validate/run_job.hpp"

namespace foreshard {

namespace {

std::optional<double> error_pct(const std::optional<double>& predicted, const std::optional<double>& measured) {
    if (!predicted || !measured || *measured <= 0.0) return std::nullopt;
    return 100.0 * (*predicted / *measured - 1.0);
}

ValidationRow described(const PublishedRun& run) {
    ValidationRow row;
    row.id = run.id;
    row.source = run.source;
    row.doubted = !run.doubted.empty();
    row.reason = run.doubted;
    row.measured_step_s = run.step_time_s;
    row.memory_kind = run.memory_kind;
    row.measured_memory_bytes = run.peak_memory_bytes;
    row.measured_oom = run.out_of_memory;
    return row;
}

void set_aside(ValidationRow& row, ValidationRow::Status status, const std::string& reason) {
    row.status = status;
    row.reason = reason;
}

double memory_of_kind(const Summary& summary, const std::string& kind) {
    if (kind == "allocated") return static_cast<double>(summary.peak_memory);
    if (kind == "reserved") return static_cast<double>(summary.peak_reserved);
    return static_cast<double>(summary.peak_device);
}

std::string all_rules(const std::vector<BrokenRule>& broken) {
    std::string text;
    for (const BrokenRule& rule : broken) {
        if (!text.empty()) text += "; ";
        text += rule.rule;
    }
    return text;
}

void predict(const Job& job, ValidationRow& row) {
    const std::vector<BrokenRule> broken = check(job);
    if (!broken.empty()) {
        set_aside(row, ValidationRow::Status::infeasible, all_rules(broken));
        return;
    }
    const Summary summary = evaluate(job).report.summary;
    row.predicted_step_s = summary.step_time_ms / 1e3;
    row.predicted_verdict = to_string(summary.verdict);
    if (row.measured_memory_bytes) row.predicted_memory_bytes = memory_of_kind(summary, row.memory_kind);
}

ValidationRow validated(const PublishedRun& run, const JobChange& change) {
    ValidationRow row = described(run);
    RunRequest request = request_of(run);
    row.assumptions = request.assumptions;
    if (!request.skipped.empty()) {
        set_aside(row, ValidationRow::Status::skipped, request.skipped);
        return row;
    }
    try {
        Job job = resolve(request.request);
        if (change) change(job);
        predict(job, row);
    } catch (const InputError& error) {
        set_aside(row, ValidationRow::Status::skipped, error.what());
    }
    return row;
}

/// Verdicts are scored where a run is known to have fitted (it has a figure) or to have run out of memory.
void score_verdict(const ValidationRow& row, ValidationSummary& summary) {
    if (!row.measured_oom || row.predicted_verdict.empty()) return;
    if (!*row.measured_oom && !row.measured_memory_bytes) return;
    ++summary.oom_rows;
    const bool right = *row.measured_oom ? row.predicted_verdict != "fits" : row.predicted_verdict != "does-not-fit";
    if (right) ++summary.oom_correct;
}

ValidationSummary summary_of(const std::vector<const ValidationRow*>& rows) {
    ValidationSummary summary;
    std::vector<double> steps;
    std::vector<double> bubbles;
    std::map<std::string, std::vector<double>> memory;
    for (const ValidationRow* row : rows) {
        if (const auto error = row->step_error_pct()) steps.push_back(*error);
        if (const auto error = row->bubble_error_points()) bubbles.push_back(*error);
        if (const auto error = row->memory_error_pct()) {
            memory[row->memory_kind.empty() ? "unknown" : row->memory_kind].push_back(*error);
            memory["all"].push_back(*error);
        }
        score_verdict(*row, summary);
    }
    summary.step_time = summarise(std::move(steps));
    summary.bubble = summarise(std::move(bubbles));
    for (auto& [kind, errors] : memory) summary.memory[kind] = summarise(std::move(errors));
    return summary;
}

}  // namespace

std::optional<double> ValidationRow::step_error_pct() const {
    return error_pct(predicted_step_s, measured_step_s);
}

std::optional<double> ValidationRow::memory_error_pct() const {
    std::optional<double> worst;
    for (const RankPeak& rank : ranks) {
        const auto error = error_pct(static_cast<double>(rank.predicted), static_cast<double>(rank.measured));
        if (error && (!worst || std::abs(*error) > std::abs(*worst))) worst = error;
    }
    return worst ? worst : error_pct(predicted_memory_bytes, measured_memory_bytes);
}

std::optional<double> ValidationRow::bubble_error_points() const {
    if (!measured_bubble_ratio || !predicted_bubble_ratio) return std::nullopt;
    return 100.0 * (*predicted_bubble_ratio - *measured_bubble_ratio);
}

ErrorSummary summarise(std::vector<double> errors) {
    ErrorSummary summary;
    summary.rows = static_cast<int>(errors.size());
    if (errors.empty()) return summary;
    const auto count = static_cast<double>(errors.size());
    for (const double error : errors) summary.bias_pct += error / count;
    for (double& error : errors) error = std::abs(error);
    std::sort(errors.begin(), errors.end());
    for (const double error : errors) summary.mean_abs_pct += error / count;
    // Nearest-rank percentile; the median of an even count is the mean of the middle two.
    const auto rank = [&](double share) { return static_cast<std::size_t>(std::ceil(share * count)) - 1; };
    const std::size_t middle = errors.size() / 2;
    summary.median_abs_pct = errors.size() % 2 == 1 ? errors[middle] : 0.5 * (errors[middle - 1] + errors[middle]);
    summary.p90_abs_pct = errors[rank(0.9)];
    summary.max_abs_pct = errors.back();
    return summary;
}

Validation summarised(std::vector<ValidationRow> rows) {
    using Rows = std::vector<const ValidationRow*>;
    Validation validation;
    validation.rows = std::move(rows);
    Rows all;
    Rows trusted;
    std::map<std::string, Rows> by_source;
    std::map<std::string, Rows> by_comm;
    std::map<std::string, Rows> by_axis;
    for (const ValidationRow& row : validation.rows) {
        if (row.status != ValidationRow::Status::ok) continue;
        all.push_back(&row);
        if (row.doubted) continue;
        trusted.push_back(&row);
        by_source[row.source].push_back(&row);
        if (!row.comm.empty()) by_comm[row.comm].push_back(&row);
        if (!row.axis.empty()) by_axis[row.axis].push_back(&row);
    }
    validation.summary = summary_of(trusted);
    validation.with_doubted = summary_of(all);
    for (const auto& [source, of] : by_source) validation.by_source[source] = summary_of(of);
    for (const auto& [comm, of] : by_comm) validation.by_comm[comm] = summary_of(of);
    for (const auto& [axis, of] : by_axis) validation.by_axis[axis] = summary_of(of);
    return validation;
}

Validation validate(const std::vector<PublishedRun>& runs, const JobChange& change) {
    std::vector<ValidationRow> rows;
    rows.reserve(runs.size());
    for (const PublishedRun& run : runs) rows.push_back(validated(run, change));
    return summarised(std::move(rows));
}

}  // namespace foreshard
