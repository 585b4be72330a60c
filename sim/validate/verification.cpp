#include "sim/validate/verification.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/engine/evaluate.hpp"
#include "sim/result/text_format.hpp"

namespace foreshard {

namespace {

/// Nearest rank, as in the reports of foreshard-run. Precondition: not empty.
double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    const double place = std::ceil(share * static_cast<double>(values.size())) - 1.0;
    return values[static_cast<std::size_t>(std::max(place, 0.0))];
}

std::string number(const std::optional<double>& value, const char* format, double scale = 1.0) {
    return value ? fmt::format(fmt::runtime(format), *value * scale) : "-";
}

std::string heading() {
    return fmt::format("{:<58} {:>8} {:>20} {:>8} {:>16} {:>8} {:>9}\n{:<58} {:>8} {:>20} {:>8} {:>16} {:>8} {:>9}\n",
                       "plan", "comm", "step time, ms", "error", "bubble, %", "error", "memory", "", "",
                       "measured predicted", "%", "meas. pred.", "points", "error, %");
}

const char* mark_of(ValidationRow::Status status) {
    return status == ValidationRow::Status::calibration ? "* " : "";
}

std::string row_line(const ValidationRow& row) {
    constexpr std::size_t id_width = 58;
    const std::string name = shortened(mark_of(row.status) + row.id, id_width);
    if (!row.measured_step_s) return fmt::format("{:<58} {:>8} {}\n", name, row.comm, row.reason);
    return fmt::format("{:<58} {:>8} {:>10} {:>9} {:>8} {:>8} {:>7} {:>8} {:>9}\n", name, row.comm,
                       number(row.measured_step_s, "{:.1f}", 1e3), number(row.predicted_step_s, "{:.1f}", 1e3),
                       number(row.step_error_pct(), "{:+.1f}"), number(row.measured_bubble_ratio, "{:.1f}", 1e2),
                       number(row.predicted_bubble_ratio, "{:.1f}", 1e2), number(row.bubble_error_points(), "{:+.1f}"),
                       number(row.memory_error_pct(), "{:+.2f}"));
}

const ErrorSummary* memory_of(const ValidationSummary& summary) {
    const auto found = summary.memory.find("all");
    return found == summary.memory.end() ? nullptr : &found->second;
}

std::string summary_line(const std::string& name, const ValidationSummary& summary) {
    const ErrorSummary* memory = memory_of(summary);
    return fmt::format("{:<16} {:>5} {:>8.1f} {:>8.1f} {:>+8.1f} {:>8.1f} {:>8.1f} {:>10}\n", name,
                       summary.step_time.rows, summary.step_time.median_abs_pct, summary.step_time.max_abs_pct,
                       summary.step_time.bias_pct, summary.bubble.median_abs_pct, summary.bubble.max_abs_pct,
                       memory == nullptr ? "-" : fmt::format("{:.2f}", memory->max_abs_pct));
}

std::string summary_lines(const Validation& validation) {
    std::string text =
        fmt::format("\n{:<16} {:>5} {:>26} {:>17} {:>10}\n{:<16} {:>5} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10}\n",
                    "errors of plans", "", "step time, %", "bubble, points", "memory, %", "not fitted to", "plans",
                    "median", "worst", "bias", "median", "worst", "worst");
    for (const auto& [axis, summary] : validation.by_axis) text += summary_line(axis, summary);
    for (const auto& [comm, summary] : validation.by_comm) text += summary_line(comm, summary);
    return text + summary_line("all", validation.summary);
}

}  // namespace

std::string axis_of(const ParallelPlan& plan) {
    std::string axes;
    const auto add = [&axes](const char* name, int degree) {
        if (degree > 1) axes += (axes.empty() ? "" : "-") + std::string(name);
    };
    add("tp", plan.tp);
    add("dp", plan.dp);
    add("pp", plan.pp);
    return axes.empty() ? "none" : axes;
}

void add_measured(const MeasuredPlan& measured, ValidationRow& row) {
    if (measured.step_ms.empty()) return;
    row.steps = static_cast<int>(measured.step_ms.size());
    row.measured_step_s = quantile(measured.step_ms, 0.5) / 1e3;
    row.measured_p10_s = quantile(measured.step_ms, 0.1) / 1e3;
    row.measured_p90_s = quantile(measured.step_ms, 0.9) / 1e3;
    row.measured_bubble_ratio = quantile(measured.bubble_ratio, 0.5);
    row.memory_kind = "allocated";
    ByteCount most = 0;
    for (const MeasuredPlan::Rank& rank : measured.ranks) most = std::max(most, rank.high_water);
    row.measured_memory_bytes = static_cast<double>(most);
}

void add_predicted(const Job& job, const MeasuredPlan& measured, ValidationRow& row) {
    const Report report = evaluate(job).report;
    row.predicted_step_s = report.summary.step_time_ms / 1e3;
    row.predicted_bubble_ratio = report.summary.bubble_ratio;
    row.predicted_memory_bytes = static_cast<double>(report.summary.peak_memory);
    row.predicted_verdict = to_string(report.summary.verdict);
    row.assumptions = report.assumptions;
    for (std::size_t rank = 0; rank < measured.ranks.size(); ++rank) {
        for (const RankReport& own : report.ranks) {
            if (own.pp_rank != measured.ranks[rank].pp) continue;
            row.ranks.push_back({static_cast<int>(rank), measured.ranks[rank].high_water, own.memory.peak});
            break;
        }
    }
}

std::string verification_text(const Validation& validation) {
    std::string text = heading();
    bool calibrated = false;
    for (const ValidationRow& row : validation.rows) {
        text += row_line(row);
        calibrated = calibrated || row.status == ValidationRow::Status::calibration;
    }
    if (calibrated) text += "* calibrated on, and not counted below\n";
    return text + summary_lines(validation);
}

std::map<std::string, double> verification_figures(const Validation& validation) {
    const ValidationSummary& summary = validation.summary;
    std::map<std::string, double> figures = {
        {"rows", summary.step_time.rows},
        {"step_time_median_abs_pct", summary.step_time.median_abs_pct},
        {"step_time_mean_abs_pct", summary.step_time.mean_abs_pct},
        {"step_time_p90_abs_pct", summary.step_time.p90_abs_pct},
        {"step_time_max_abs_pct", summary.step_time.max_abs_pct},
        {"step_time_bias_pct", summary.step_time.bias_pct},
        {"bubble_median_abs_points", summary.bubble.median_abs_pct},
        {"bubble_max_abs_points", summary.bubble.max_abs_pct},
    };
    const ErrorSummary* memory = memory_of(summary);
    figures["memory_max_abs_pct"] = memory == nullptr ? 0.0 : memory->max_abs_pct;
    return figures;
}

}  // namespace foreshard
