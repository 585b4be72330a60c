#include "gui/plans/plan_table.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "gui/charts/draw.hpp"

namespace foreshard::gui {

namespace {

constexpr std::array first_keys = {"gpus", "tp",       "pp",        "vpp", "dp",  "cp", "ep", "micro_batch_size",
                                   "mbs",  "schedule", "recompute", "sp",  "zero"};

/// Keys in the order of reading: degrees first, the others by name.
std::vector<std::string> orderedKeys(const ReadSearch& search) {
    std::set<std::string> rest;
    for (const SearchPlan& plan : search.plans) {
        for (const auto& [key, value] : plan.plan) rest.insert(key);
    }
    std::vector<std::string> keys;
    for (const char* key : first_keys) {
        if (rest.erase(key) > 0) keys.emplace_back(key);
    }
    keys.insert(keys.end(), rest.begin(), rest.end());
    return keys;
}

std::string valueOf(const SearchPlan& plan, const std::string& key) {
    const auto value = plan.plan.find(key);
    return value == plan.plan.end() ? "" : value->second;
}

bool varies(const ReadSearch& search, const std::string& key) {
    return std::any_of(search.plans.begin(), search.plans.end(), [&](const SearchPlan& plan) {
        return valueOf(plan, key) != valueOf(search.plans.front(), key);
    });
}

Cell settingCell(const std::string& value) {
    const QString text = value.empty() ? "-" : QString::fromStdString(value);
    bool number = false;
    const double sort = text.toDouble(&number);
    return {text, number ? QVariant(sort) : QVariant(text)};
}

/// A figure of the summary as a column.
struct FigureColumn {
    const char* key;
    const char* title;
    QString (*text)(double);
};

const std::array figure_columns = {
    FigureColumn{"step_time_ms", "step", [](double ms) { return durationText(static_cast<Picoseconds>(ms * 1e9)); }},
    FigureColumn{"tokens_per_s", "tokens/s", [](double value) { return figureText(value); }},
    FigureColumn{"mfu_ratio", "MFU", [](double value) { return percentText(value); }},
    FigureColumn{"bubble_ratio", "bubble", [](double value) { return percentText(value); }},
    FigureColumn{"peak_memory_bytes", "peak memory",
                 [](double bytes) { return memoryText(static_cast<ByteCount>(bytes)); }},
};

/// What the search's objective orders plans by, beside the figures that are always shown.
const std::array objective_columns = {
    std::pair{"tokens-per-s-per-gpu",
              FigureColumn{"tokens_per_s_per_gpu", "tokens/s a GPU", [](double value) { return figureText(value); }}},
    std::pair{"cost-per-token", FigureColumn{"cost_usd_per_million_tokens", "$ a million tokens",
                                             [](double value) { return figureText(value); }}},
    std::pair{"energy-per-token",
              FigureColumn{"energy_J_per_token", "J a token", [](double value) { return figureText(value); }}},
    std::pair{"time-to-train",
              FigureColumn{"time_to_train_h", "training, h", [](double value) { return figureText(value); }}},
};

std::vector<FigureColumn> figureColumns(const ReadSearch& search) {
    std::vector<FigureColumn> columns;
    for (const auto& [objective, column] : objective_columns) {
        if (search.objective == objective) columns.push_back(column);
    }
    columns.insert(columns.end(), figure_columns.begin(), figure_columns.end());
    return columns;
}

Cell figureCell(const SearchPlan& plan, const FigureColumn& column) {
    const std::optional<double> value = plan.figure(column.key);
    return value ? Cell{column.text(*value), *value} : Cell{"-", -1.0};
}

Cell stateCell(const ReadSearch& search, std::size_t plan) {
    switch (planState(search, plan)) {
        case PlanState::best:
            return {"best", 0, {}, Cell::Tone::better};
        case PlanState::front:
            return {"on the front", 1, "No other plan has both more throughput and less memory", Cell::Tone::better};
        case PlanState::fits:
            return {"", 2};
        case PlanState::does_not_fit:
            return {"does not fit", 3, {}, Cell::Tone::warning};
        case PlanState::infeasible:
            break;
    }
    const QString reason = QString::fromStdString(search.plans[plan].infeasible);
    return {reason, 4, reason, Cell::Tone::warning};
}

}  // namespace

PlanState planState(const ReadSearch& search, std::size_t plan) {
    if (!search.plans[plan].infeasible.empty()) return PlanState::infeasible;
    if (!search.plans[plan].fits) return PlanState::does_not_fit;
    if (plan == 0) return PlanState::best;
    const bool front = std::find(search.pareto.begin(), search.pareto.end(), plan) != search.pareto.end();
    return front ? PlanState::front : PlanState::fits;
}

std::vector<std::string> varyingKeys(const ReadSearch& search) {
    std::vector<std::string> keys = orderedKeys(search);
    keys.erase(std::remove_if(keys.begin(), keys.end(), [&](const std::string& key) { return !varies(search, key); }),
               keys.end());
    return keys;
}

QString commonSettings(const ReadSearch& search) {
    QStringList parts;
    for (const std::string& key : orderedKeys(search)) {
        if (varies(search, key)) continue;
        parts << QString::fromStdString(key + " " + valueOf(search.plans.front(), key));
    }
    return parts.join(", ");
}

Table planTable(const ReadSearch& search) {
    Table table;
    const std::vector<std::string> keys = varyingKeys(search);
    table.columns.push_back({"#", Column::Kind::number});
    for (const std::string& key : keys) {
        const bool words = std::any_of(search.plans.begin(), search.plans.end(), [&](const SearchPlan& plan) {
            return settingCell(valueOf(plan, key)).sort.typeId() == QMetaType::QString && !valueOf(plan, key).empty();
        });
        table.columns.push_back({QString::fromStdString(key), words ? Column::Kind::text : Column::Kind::number});
    }
    const std::vector<FigureColumn> figures = figureColumns(search);
    for (const FigureColumn& column : figures) table.columns.push_back({column.title, Column::Kind::number});
    table.columns.push_back({"remark"});
    for (std::size_t i = 0; i < search.plans.size(); ++i) {
        const SearchPlan& plan = search.plans[i];
        std::vector<Cell> row = {{QString::number(i + 1), static_cast<qulonglong>(i)}};
        for (const std::string& key : keys) row.push_back(settingCell(valueOf(plan, key)));
        for (const FigureColumn& column : figures) row.push_back(figureCell(plan, column));
        row.push_back(stateCell(search, i));
        table.rows.push_back(std::move(row));
    }
    return table;
}

QString planText(const ReadSearch& search, std::size_t plan) {
    QStringList parts;
    for (const std::string& key : varyingKeys(search)) {
        const std::string value = valueOf(search.plans[plan], key);
        if (!value.empty()) parts << QString("%1 %2").arg(QString::fromStdString(key), QString::fromStdString(value));
    }
    QString text = QString("%1. %2").arg(plan + 1).arg(parts.join(", "));
    for (const FigureColumn& column : figureColumns(search)) {
        const std::optional<double> value = search.plans[plan].figure(column.key);
        if (value) text += QString("\n%1: %2").arg(column.title, column.text(*value));
    }
    const QString remark = stateCell(search, plan).text;
    return remark.isEmpty() ? text : text + "\n" + remark;
}

Table reasonsTable(const ReadSearch& search) {
    Table table;
    table.columns = {{"plans", Column::Kind::number}, {"cannot run because"}};
    std::vector<std::pair<std::string, std::int64_t>> reasons(search.infeasible.begin(), search.infeasible.end());
    std::stable_sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    for (const auto& [reason, count] : reasons) {
        table.rows.push_back(
            {{QString::number(count), static_cast<qlonglong>(count)}, {QString::fromStdString(reason)}});
    }
    return table;
}

QString searchSentence(const ReadSearch& search) {
    std::int64_t refused = 0;
    for (const auto& [reason, count] : search.infeasible) refused += count;
    QString text = QString("%1 plans evaluated, %2 simulated, %3 refused")
                       .arg(search.evaluated)
                       .arg(search.simulated)
                       .arg(refused);
    if (search.plans.empty() || planState(search, 0) != PlanState::best) return text + "; none fits";
    text += "; best: ";
    QStringList parts;
    for (const std::string& key : varyingKeys(search)) {
        const std::string value = valueOf(search.plans.front(), key);
        if (!value.empty()) parts << QString("%1 %2").arg(QString::fromStdString(key), QString::fromStdString(value));
    }
    text += parts.join(", ");
    const std::optional<double> speed = search.plans.front().figure("tokens_per_s");
    if (speed) text += QString(" with %1 tokens/s").arg(figureText(*speed));
    if (search.complete || !search.gap_ratio) return text;
    return text + QString("; ended early, no plan is more than %1 % better").arg(100.0 * *search.gap_ratio, 0, 'g', 2);
}

}  // namespace foreshard::gui
