#include "sim/search/text_objective.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace foreshard {

namespace {

/// How a figure stands in a table.
struct FigureStyle {
    const char* key;
    const char* title;
    double scale;  ///< of the figure's unit to the title's
};

constexpr double hours_per_day = 24.0;

constexpr std::array<FigureStyle, 7> figure_styles = {{{"cost_usd_per_million_tokens", "USD/Mtok", 1.0},
                                                       {"energy_J_per_token", "J/token", 1.0},
                                                       {"power_kW", "kW", 1.0},
                                                       {"goodput_ratio", "goodput", 1.0},
                                                       {"checkpoint_interval_s", "ckpt s", 1.0},
                                                       {"time_to_train_h", "days", 1.0 / hours_per_day},
                                                       {"train_cost_usd", "train USD", 1.0}}};

const FigureStyle& style_of(const char* key) {
    return *std::find_if(figure_styles.begin(), figure_styles.end(),
                         [&](const FigureStyle& style) { return std::string_view(style.key) == key; });
}

/// Four significant ones, and all in front of the point.
std::string four_digits(double value) {
    return value < 1000.0 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

}  // namespace

FigureColumns::FigureColumns(const std::vector<const PlanFigures*>& plans) {
    find(plans);
}

FigureColumns::FigureColumns(const std::vector<FoundPlan>& plans) {
    std::vector<const PlanFigures*> figures;
    figures.reserve(plans.size());
    for (const FoundPlan& plan : plans) figures.push_back(&plan.figures);
    find(figures);
}

void FigureColumns::find(const std::vector<const PlanFigures*>& plans) {
    visit_plan_figures([&](const char* key, auto member) {
        const bool known =
            std::any_of(plans.begin(), plans.end(), [&](const PlanFigures* plan) { return plan->*member; });
        if (known) shown_.push_back({key, member});
    });
}

std::string FigureColumns::header() const {
    std::string text;
    for (const Column& column : shown_) text += fmt::format(" {:>9}", style_of(column.key).title);
    return text;
}

std::string FigureColumns::cells(const PlanFigures& figures) const {
    std::string text;
    for (const Column& column : shown_) {
        const FigureStyle& style = style_of(column.key);
        const std::optional<double>& value = figures.*column.member;
        text += fmt::format(" {:>9}", value ? four_digits(*value * style.scale) : "-");
    }
    return text;
}

std::string FigureColumns::csv_header() const {
    std::string text;
    for (const Column& column : shown_) text += std::string(",") + column.key;
    return text;
}

std::string FigureColumns::csv_cells(const PlanFigures& figures) const {
    std::string text;
    for (const Column& column : shown_) {
        const std::optional<double>& value = figures.*column.member;
        text += value ? fmt::format(",{}", *value) : ",";
    }
    return text;
}

std::string FigureColumns::note(const OperatingFigures& operation) const {
    const bool energy = std::any_of(shown_.begin(), shown_.end(), [](const Column& column) {
        return std::string_view(column.key) == "energy_J_per_token";
    });
    return energy && !operation.node_rest_w
               ? "  J/token, kW: of GPUs only; --node-rest-w adds what nodes draw beside them\n"
               : "";
}

}  // namespace foreshard
