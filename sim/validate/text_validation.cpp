#include "sim/validate/text_validation.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/result/text_format.hpp"

namespace foreshard {

namespace {

constexpr std::size_t name_width = 44;

std::string line_of(const std::string& name, const ErrorSummary& s) {
    return fmt::format("{:<44} {:>4} {:>6.1f} {:>6.1f} {:>6.1f} {:>+6.1f}\n", shortened(name, name_width), s.rows,
                       s.median_abs_pct, s.mean_abs_pct, s.p90_abs_pct, s.bias_pct);
}

std::string heading(const char* what) {
    return fmt::format("{:<44} {:>4} {:>6} {:>6} {:>6} {:>6}\n", what, "rows", "median", "mean", "P90", "bias");
}

std::string memory_lines(const ValidationSummary& summary) {
    if (summary.memory.empty()) return "";
    std::string text = "\n" + heading("peak memory, % error");
    for (const auto& [kind, errors] : summary.memory) text += line_of(kind, errors);
    if (summary.oom_rows > 0) {
        text += fmt::format("fits or not: {} of {} right\n", summary.oom_correct, summary.oom_rows);
    }
    return text;
}

std::string set_aside_lines(const Validation& validation) {
    std::map<std::string, int> reasons;
    int doubted = 0;
    for (const ValidationRow& row : validation.rows) {
        if (row.status != ValidationRow::Status::ok) ++reasons[row.reason];
        doubted += row.status == ValidationRow::Status::ok && row.doubted ? 1 : 0;
    }
    std::vector<std::pair<int, std::string>> sorted;
    sorted.reserve(reasons.size());
    for (const auto& [reason, count] : reasons) sorted.emplace_back(count, reason);
    std::sort(sorted.rbegin(), sorted.rend());
    std::string text = "\nset aside\n";
    constexpr std::size_t shown = 12;
    for (std::size_t i = 0; i < std::min(shown, sorted.size()); ++i) {
        text += fmt::format("  {:>5} rows: {}\n", sorted[i].first, shortened(sorted[i].second, 64));
    }
    if (sorted.size() > shown) text += fmt::format("  and {} other reasons\n", sorted.size() - shown);
    return text + fmt::format("  {:>5} rows are predicted and listed, but doubted and not counted\n", doubted);
}

}  // namespace

std::string validation_text(const Validation& validation) {
    std::string text = heading("step time, % error");
    for (const auto& [source, summary] : validation.by_source) {
        if (summary.step_time.rows > 0) text += line_of(source, summary.step_time);
    }
    text += line_of("all", validation.summary.step_time);
    return text + memory_lines(validation.summary) + set_aside_lines(validation);
}

std::string validation_rows_text(const Validation& validation) {
    std::string text;
    for (const ValidationRow& row : validation.rows) {
        const auto error = row.step_error_pct();
        if (!error) continue;
        text += fmt::format("{:<52} {:>10.4f} s {:>10.4f} s {:>+7.1f} %{}\n", shortened(row.id, 52),
                            *row.measured_step_s, *row.predicted_step_s, *error, row.doubted ? "  doubted" : "");
    }
    return text;
}

std::string ablation_text(const std::vector<PublishedRun>& runs) {
    const Validation base = validate(runs);
    std::vector<Validation> changed;
    for (const Ablation& ablation : ablations()) changed.push_back(validate(runs, ablation.change));
    std::string text;
    for (const auto& [source, summary] : base.by_source) {
        if (summary.step_time.rows == 0) continue;
        text += fmt::format("{} ({} rows)\n  {:<34} {:>6} {:>6}\n", source, summary.step_time.rows,
                            "median / mean % error", "median", "mean");
        text += fmt::format("  {:<34} {:>6.1f} {:>6.1f}\n", "as it is", summary.step_time.median_abs_pct,
                            summary.step_time.mean_abs_pct);
        for (std::size_t i = 0; i < changed.size(); ++i) {
            const auto found = changed[i].by_source.find(source);
            if (found == changed[i].by_source.end()) continue;
            text += fmt::format("  {:<34} {:>6.1f} {:>6.1f}\n", ablations()[i].name,
                                found->second.step_time.median_abs_pct, found->second.step_time.mean_abs_pct);
        }
    }
    return text;
}

}  // namespace foreshard
