#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/result/compare_text.hpp"
#include "sim/result/text_format.hpp"
#include "sim/search/plan_words.hpp"
#include "sim/search/text_search.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard {

namespace {

constexpr std::size_t change_width = 36;
constexpr std::size_t rule_width = 96;

/// A column: which parts of the step it adds up.
struct TermColumn {
    const char* head;
    std::array<StepTerm, 3> terms;
    int count;
};

constexpr std::array<TermColumn, 8> term_columns = {{
    {"compute", {StepTerm::forward, StepTerm::backward, StepTerm::weight_grad}, 3},
    {"recomp", {StepTerm::recompute}, 1},
    {"tp cp ep", {StepTerm::exposed_tp, StepTerm::exposed_cp, StepTerm::exposed_ep}, 3},
    {"pp", {StepTerm::exposed_pp}, 1},
    {"dp", {StepTerm::exposed_dp}, 1},
    {"optim", {StepTerm::optimizer}, 1},
    {"idle", {StepTerm::imbalance, StepTerm::bubble}, 2},
    {"other", {StepTerm::host, StepTerm::data, StepTerm::exposed_offload}, 3},
}};

/// A power of ten that leaves the step four to five digits, and the decimals of milliseconds that it takes.
struct RoundingUnit {
    Picoseconds unit = 1'000'000'000;
    int decimals = 0;
};

RoundingUnit rounding_unit(double step_ms) {
    RoundingUnit rounding;
    for (double digits = step_ms; digits < 1000.0 && rounding.decimals < 6; digits *= 10.0) {
        rounding.unit /= 10;
        ++rounding.decimals;
    }
    return rounding;
}

std::string value_text(const PlanChange& change, const std::string& value) {
    if (change.name == "sp") return value == "true" ? "on" : "off";
    return value.empty() ? "even" : value;
}

/// Layouts are told by their being other ones.
std::string follow_text(const PlanChange& change) {
    if (change.name.starts_with("recompute_")) return "";
    if (change.name == "layout" || change.name == "account_for_loss_in_pipeline_split") return "layers";
    if (change.name == "account_for_embedding_in_pipeline_split") return "";
    return fmt::format("{} {}", change.name, value_text(change, change.to));
}

std::string follows_text(const std::vector<PlanChange>& changes) {
    std::vector<std::string> parts;
    for (const PlanChange& change : changes) {
        std::string part = follow_text(change);
        if (!part.empty() && std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
    }
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
    return text;
}

/// Which layers are recomputed belongs to how.
std::string changed_value(const Neighbour& neighbour, const JobRequest& best) {
    const PlanChange& change = neighbour.change;
    if (change.name.starts_with("recompute")) {
        return fmt::format("recompute {} -> {}", recompute_words(best), recompute_words(neighbour.plan));
    }
    return fmt::format("{} {} -> {}", change.name, value_text(change, change.from), value_text(change, change.to));
}

std::string change_text(const Neighbour& neighbour, const JobRequest& best) {
    const std::string follows = follows_text(neighbour.follows);
    const std::string text = changed_value(neighbour, best);
    return shortened(follows.empty() ? text : fmt::format("{} ({})", text, follows), change_width);
}

std::string neighbour_row(const Neighbour& neighbour, const JobRequest& best, const RoundingUnit& rounding) {
    std::string text = fmt::format("  {:<{}}", change_text(neighbour, best), change_width);
    if (!neighbour.broken.empty()) return text + " cannot run: " + shortened(neighbour.broken, rule_width) + "\n";
    std::vector<Picoseconds> values;
    for (const TermColumn& column : term_columns) {
        Picoseconds sum = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(column.count); ++i) {
            sum += neighbour.terms[static_cast<std::size_t>(column.terms[i])];
        }
        values.push_back(sum);
    }
    const std::vector<std::int64_t> rounded = rounded_to_sum(values, rounding.unit);
    std::int64_t total = 0;
    for (const std::int64_t value : rounded) total += value;
    const auto cell = [&](std::int64_t value, int width) {
        if (value == 0) return fmt::format(" {:>{}}", "0", width);
        return fmt::format(" {:>+{}.{}f}", to_milliseconds(value * rounding.unit), width, rounding.decimals);
    };
    text += cell(total, 9);
    for (const std::int64_t value : rounded) text += cell(value, 8);
    text += fmt::format(" {:>+7.2f}", in_gib(neighbour.peak_difference));
    if (neighbour.missing_memory > 0) {
        text += fmt::format("  does not fit: {:.2f} GiB too much", in_gib(neighbour.missing_memory));
    }
    return text + "\n";
}

std::string sensitivity_row(const Sensitivity& one, const FoundPlan& best) {
    std::string text = fmt::format("  {:<20} x{:<5}", to_string(one.figure), one.scale);
    if (!one.plan) return text + " no plan fits\n";
    const double base = best.summary.step_time_ms;
    text += fmt::format(" {:>+8.2f} %  ", 100.0 * (one.step_time_ms / base - 1.0));
    if (!one.other_plan) return text + "the same plan\n";
    text += one.kept_step_time_ms
                ? fmt::format("{:+.2f} % with the same plan; ", 100.0 * (*one.kept_step_time_ms / base - 1.0))
                : std::string("the plan does not fit; ");
    return text + follows_text(plan_changes(best.plan, *one.plan)) + "\n";
}

}  // namespace

std::string neighbours_text(const SearchOutcome& result) {
    if (result.neighbours.empty()) return "";
    std::string text = "\nwhy not (differences to the best one: ms of the step, mean over ranks; GiB at the peak)\n";
    text += fmt::format("  {:<{}} {:>9}", "", change_width, "step");
    for (const TermColumn& column : term_columns) text += fmt::format(" {:>8}", column.head);
    text += fmt::format(" {:>7}\n", "peak");
    const RoundingUnit rounding = rounding_unit(result.plans.front().summary.step_time_ms);
    for (const Neighbour& neighbour : result.neighbours)
        text += neighbour_row(neighbour, result.plans.front().plan, rounding);
    return text;
}

std::string sensitivity_text(const SearchOutcome& result) {
    if (result.sensitivity.empty()) return "";
    std::string text = "\nsensitivity (the best step where a figure of the hardware is so many times as large)\n";
    for (const Sensitivity& one : result.sensitivity) text += sensitivity_row(one, result.plans.front());
    return text;
}

std::string improvement_text(const Improvement& improvement) {
    const Summary& summary = improvement.found.summary;
    const char* what = improvement.best ? "best so far" : improvement.on_front ? "less memory" : "among the best";
    return fmt::format("{} {}, {}: {}", what, milliseconds(summary.step_time_ms), gibibytes(summary.peak_memory),
                       request_flags(improvement.found.plan));
}

}  // namespace foreshard
