#include "gui/plans/neighbour_table.hpp"

#include <QStringList>
#include <array>
#include <cmath>

#include "gui/charts/draw.hpp"

namespace foreshard::gui {

namespace {

/// A column, and the terms of the step that it adds up.
struct StepColumn {
    const char* title;
    std::array<const char*, 3> terms;
};

constexpr std::array step_columns = {
    StepColumn{"step", {"total"}},
    StepColumn{"compute", {"forward", "backward", "weight_grad"}},
    StepColumn{"recompute", {"recompute"}},
    StepColumn{"TP CP EP", {"exposed_tp", "exposed_cp", "exposed_ep"}},
    StepColumn{"PP", {"exposed_pp"}},
    StepColumn{"DP", {"exposed_dp"}},
    StepColumn{"optimizer", {"optimizer"}},
    StepColumn{"idle", {"imbalance", "bubble"}},
    StepColumn{"other", {"host", "data", "exposed_offload"}},
};

double sumOf(const std::map<std::string, double>& figures, const StepColumn& column) {
    double sum = 0.0;
    for (const char* term : column.terms) {
        const auto found = term == nullptr ? figures.end() : figures.find(term);
        if (found != figures.end()) sum += found->second;
    }
    return sum;
}

QString withSign(double value, const QString& magnitude) {
    return value == 0.0 ? QString("0") : (value > 0.0 ? "+" : "\u2212") + magnitude;
}

Cell::Tone toneOf(double difference) {
    return difference < 0.0 ? Cell::Tone::better : difference > 0.0 ? Cell::Tone::worse : Cell::Tone::plain;
}

Cell stepCell(const SearchNeighbour& neighbour, const StepColumn& column) {
    if (neighbour.step_ms.empty()) return {"-", -1e300};
    const double ms = sumOf(neighbour.step_ms, column);
    return {withSign(ms, durationText(std::llround(std::abs(ms) * 1e9))), ms, {}, toneOf(ms)};
}

Cell peakCell(const SearchNeighbour& neighbour) {
    const auto total = neighbour.peak_bytes.find("total");
    if (total == neighbour.peak_bytes.end()) return {"-", -1e300};
    const double bytes = total->second;
    QStringList parts;
    for (const auto& [name, value] : neighbour.peak_bytes) {
        if (name == "total" || value == 0.0) continue;
        parts << qt(name) + " " + withSign(value, memoryText(std::llround(std::abs(value))));
    }
    return {withSign(bytes, memoryText(std::llround(std::abs(bytes)))), bytes, parts.join('\n'), toneOf(bytes)};
}

Cell remarkCell(const SearchNeighbour& neighbour) {
    if (neighbour.runs) return {"", 0};
    if (!neighbour.missing_bytes)
        return {"cannot run: " + qt(neighbour.reason), 2, qt(neighbour.reason), Cell::Tone::warning};
    return {"does not fit: " + memoryText(std::llround(*neighbour.missing_bytes)) + " too much",
            1,
            {},
            Cell::Tone::warning};
}

QString valueText(const std::string& value) {
    return value.empty() ? QString("-") : qt(value);
}

}  // namespace

Table neighbourTable(const ReadSearch& search) {
    Table table;
    table.columns = {{"change"}, {"with it"}};
    for (const StepColumn& column : step_columns) table.columns.push_back({column.title, Column::Kind::number});
    table.columns.push_back({"peak memory", Column::Kind::number});
    table.columns.push_back({"remark"});
    for (const SearchNeighbour& neighbour : search.neighbours) {
        QStringList follows;
        for (const std::string& change : neighbour.follows) follows << qt(change);
        std::vector<Cell> row = {
            {qt(neighbour.axis) + " " + valueText(neighbour.from) + " \u2192 " + valueText(neighbour.to)},
            {follows.join(", ")}};
        for (const StepColumn& column : step_columns) row.push_back(stepCell(neighbour, column));
        row.push_back(peakCell(neighbour));
        row.push_back(remarkCell(neighbour));
        table.rows.push_back(std::move(row));
    }
    return table;
}

}  // namespace foreshard::gui
