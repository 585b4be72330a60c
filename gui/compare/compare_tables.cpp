#include "gui/compare/compare_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "gui/charts/draw.hpp"
#include "gui/charts/run_text.hpp"

namespace foreshard::gui {

namespace {

enum class Better { less, more, neither };

/// How a figure of the summary is called and written.
struct FigureStyle {
    const char* key;
    const char* title;
    enum class Unit { ms, ratio, gib, number } unit;
    Better better;
};

constexpr std::array styles = {
    FigureStyle{"step_time_ms", "step time", FigureStyle::Unit::ms, Better::less},
    FigureStyle{"tokens_per_s", "tokens per s", FigureStyle::Unit::number, Better::more},
    FigureStyle{"tokens_per_s_per_gpu", "tokens per s and GPU", FigureStyle::Unit::number, Better::more},
    FigureStyle{"model_tflops_per_gpu", "model TFLOP/s per GPU", FigureStyle::Unit::number, Better::more},
    FigureStyle{"mfu_ratio", "MFU", FigureStyle::Unit::ratio, Better::more},
    FigureStyle{"hfu_ratio", "HFU", FigureStyle::Unit::ratio, Better::neither},
    FigureStyle{"bubble_ratio", "bubble", FigureStyle::Unit::ratio, Better::less},
    FigureStyle{"gpu_busy_ratio", "GPU busy", FigureStyle::Unit::ratio, Better::more},
    FigureStyle{"exposed_comm_ms.tp", "exposed TP", FigureStyle::Unit::ms, Better::less},
    FigureStyle{"exposed_comm_ms.cp", "exposed CP", FigureStyle::Unit::ms, Better::less},
    FigureStyle{"exposed_comm_ms.ep", "exposed EP", FigureStyle::Unit::ms, Better::less},
    FigureStyle{"exposed_comm_ms.pp", "exposed PP", FigureStyle::Unit::ms, Better::less},
    FigureStyle{"exposed_comm_ms.dp", "exposed DP", FigureStyle::Unit::ms, Better::less},
    FigureStyle{"hidden_comm_ms.dp", "hidden DP", FigureStyle::Unit::ms, Better::neither},
    FigureStyle{"peak_memory_bytes", "peak memory, allocated", FigureStyle::Unit::gib, Better::less},
    FigureStyle{"peak_reserved_bytes", "peak memory, reserved", FigureStyle::Unit::gib, Better::less},
    FigureStyle{"peak_device_bytes", "peak memory, device", FigureStyle::Unit::gib, Better::less},
    FigureStyle{"memory_capacity_bytes", "usable memory", FigureStyle::Unit::gib, Better::neither},
    FigureStyle{"fits", "fits (1: yes)", FigureStyle::Unit::number, Better::more},
    FigureStyle{"peak_memory_rank", "rank with the peak", FigureStyle::Unit::number, Better::neither},
    FigureStyle{"bubble_over_ideal_ratio", "bubble over ideal", FigureStyle::Unit::ratio, Better::less},
    FigureStyle{"bubble_span_ratio", "bubble of the longest span", FigureStyle::Unit::ratio, Better::less},
    FigureStyle{"samples_per_s", "samples per s", FigureStyle::Unit::number, Better::more},
    FigureStyle{"model_tflops_per_gpu_causal", "TFLOP/s per GPU, causal", FigureStyle::Unit::number, Better::more},
    FigureStyle{"step_time_low_ms", "step time, low", FigureStyle::Unit::ms, Better::less},
    FigureStyle{"step_time_high_ms", "step time, high", FigureStyle::Unit::ms, Better::less},
    FigureStyle{"step_time_mean_ms", "step time, mean of runs", FigureStyle::Unit::ms, Better::less},
    FigureStyle{"step_time_p90_ms", "step time, P90 of runs", FigureStyle::Unit::ms, Better::less},
    FigureStyle{"updates_per_s", "updates per s", FigureStyle::Unit::number, Better::more},
};

/// Figures that are not listed are called by their key.
FigureStyle styleOf(const std::string& key) {
    const auto* known =
        std::find_if(styles.begin(), styles.end(), [&](const FigureStyle& style) { return key == style.key; });
    return known != styles.end() ? *known : FigureStyle{"", key.c_str(), FigureStyle::Unit::number, Better::neither};
}

QString valueText(double value, FigureStyle::Unit unit) {
    switch (unit) {
        case FigureStyle::Unit::ms:
            return durationText(static_cast<Picoseconds>(std::llround(value * 1e9)));
        case FigureStyle::Unit::ratio:
            return QString::number(100.0 * value, 'f', 1) + " %";
        case FigureStyle::Unit::gib:
            return memoryText(std::llround(value));
        case FigureStyle::Unit::number:
            return figureText(value);
    }
    return "";
}

Cell::Tone toneOf(double difference, Better better) {
    if (difference == 0.0 || better == Better::neither) return Cell::Tone::plain;
    return (difference < 0.0) == (better == Better::less) ? Cell::Tone::better : Cell::Tone::worse;
}

/// @param place in the order of interest
std::vector<Cell> figureRow(const FigureDifference& figure, int place) {
    const FigureStyle style = styleOf(figure.key);
    const double difference = figure.difference();
    const Cell::Tone tone = toneOf(difference, style.better);
    const QString sign = difference > 0.0 ? "+" : "";
    const double percent = figure.a != 0.0 ? 100.0 * difference / std::abs(figure.a) : 0.0;
    const QString relative = figure.a != 0.0 ? sign + QString::number(percent, 'f', 1) + " %" : QString("-");
    const QString absolute = style.unit == FigureStyle::Unit::ratio
                                 ? sign + QString::number(100.0 * difference, 'f', 1) + " points"
                                 : sign + valueText(difference, style.unit);
    return {{style.title, place, QString::fromStdString(figure.key)},
            {valueText(figure.a, style.unit), figure.a},
            {valueText(figure.b, style.unit), figure.b},
            {absolute, difference, {}, tone},
            {relative, percent, {}, tone}};
}

using GroupKey = std::tuple<std::size_t, int, SpanKind>;

void collect(std::map<GroupKey, UnmatchedGroup>& groups, std::size_t which, const Run& run,
             const std::vector<std::size_t>& unmatched) {
    std::size_t row = 0;
    for (const std::size_t span : unmatched) {
        while (row + 1 < run.spans.rows.size() && span >= run.spans.rows[row].last) ++row;
        const int rank = run.spans.rows[row].rank;
        UnmatchedGroup& group = groups[{which, rank, run.spans.kind[span]}];
        if (group.spans == 0) group = {which, rank, run.spans.kind[span], span, 0, 0};
        ++group.spans;
        group.time += run.spans.end[span] - run.spans.start[span];
    }
}

QString textOf(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace

Table settingsTable(const Comparison& comparison) {
    Table table;
    table.columns = {{"setting"}, {"A"}, {"B"}};
    for (const SettingDifference& setting : comparison.settings) {
        const auto value = [](const std::string& text) { return text.empty() ? "-" : QString::fromStdString(text); };
        table.rows.push_back({{QString::fromStdString(setting.name)}, {value(setting.a)}, {value(setting.b)}});
    }
    return table;
}

Table figuresTable(const Run& a, const Run& b) {
    Table table;
    table.columns = {{"figure"},
                     {"A", Column::Kind::number},
                     {"B", Column::Kind::number},
                     {"B - A", Column::Kind::number},
                     {"in %", Column::Kind::number}};
    for (const FigureDifference& figure : compare_figures(a, b)) {
        const bool absent = figure.a == 0.0 && figure.b == 0.0;
        if (!absent) table.rows.push_back(figureRow(figure, static_cast<int>(table.rows.size())));
    }
    return table;
}

std::vector<UnmatchedGroup> unmatchedGroups(const Comparison& comparison, const Run& a, const Run& b) {
    std::map<GroupKey, UnmatchedGroup> groups;
    collect(groups, 0, a, comparison.only_a);
    collect(groups, 1, b, comparison.only_b);
    std::vector<UnmatchedGroup> list;
    list.reserve(groups.size());
    for (const auto& [key, group] : groups) list.push_back(group);
    std::stable_sort(list.begin(), list.end(),
                     [](const UnmatchedGroup& x, const UnmatchedGroup& y) { return x.time > y.time; });
    return list;
}

Table unmatchedTable(const std::vector<UnmatchedGroup>& groups, const Run& a, const Run& b) {
    Table table;
    table.columns = {{"only in"}, {"rank"}, {"what"}, {"spans", Column::Kind::number}, {"time", Column::Kind::number},
                     {"first"}};
    for (const UnmatchedGroup& group : groups) {
        const Run& run = group.run == 0 ? a : b;
        table.rows.push_back({{group.run == 0 ? "A" : "B"},
                              {rankName(run, static_cast<std::size_t>(group.rank)), group.rank},
                              {textOf(to_string(group.kind))},
                              {QString::number(group.spans), static_cast<qulonglong>(group.spans)},
                              {durationText(group.time), static_cast<qlonglong>(group.time)},
                              {QString::fromStdString(span_name(run.spans, group.first))}});
    }
    return table;
}

QString matchSentence(const Comparison& comparison) {
    if (comparison.pairs.empty() && comparison.only_a.empty() && comparison.only_b.empty()) {
        return "There are no spans to match: only figures are compared.";
    }
    QString levels;
    for (int level = 0; level < match_level_count; ++level) {
        const std::size_t count = comparison.matched[static_cast<std::size_t>(level)];
        if (count == 0) continue;
        levels += QString("%1%2 %3")
                      .arg(levels.isEmpty() ? "" : ", ")
                      .arg(count)
                      .arg(textOf(to_string(static_cast<MatchLevel>(level))));
    }
    return QString("%1 % of the spans have a partner (%2); %3 only in A, %4 only in B")
        .arg(QString::number(100.0 * comparison.match_ratio(), 'f', 1), levels.isEmpty() ? "none" : levels)
        .arg(comparison.only_a.size())
        .arg(comparison.only_b.size());
}

}  // namespace foreshard::gui
