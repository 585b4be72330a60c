#include "sim/result/compare_text.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

constexpr Picoseconds microsecond = 1'000'000;

double in_ms(std::int64_t microseconds) {
    return static_cast<double>(microseconds) / 1e3;
}

/// Long values (lists, whole schedules) are cut.
std::string shown_value(const std::string& value) {
    constexpr std::size_t longest = 24;
    if (value.empty()) return "-";
    return value.size() <= longest ? value : value.substr(0, longest - 3) + "...";
}

bool is_of_a_part(const SettingDifference& setting) {
    return setting.name.find('.') != std::string::npos;
}

std::string settings_text(const std::vector<SettingDifference>& settings) {
    if (settings.empty()) return "Settings: none differ\n";
    constexpr int most_of_parts = 12;
    std::string text = "Settings that differ                  A                        B\n";
    int parts = 0;
    for (const SettingDifference& s : settings) {
        if (is_of_a_part(s) && ++parts > most_of_parts) continue;
        text += fmt::format("  {:<34}  {:<24} {}\n", s.name, shown_value(s.a), shown_value(s.b));
    }
    if (parts > most_of_parts) text += fmt::format("  and {} more (--json lists all)\n", parts - most_of_parts);
    return text;
}

std::string headline(const Waterfall& w) {
    const Picoseconds difference = w.step_b - w.step_a;
    if (difference == 0) return "The steps take equally long\n";
    return fmt::format(
        "B's step takes {:.3f} ms {} than A's ({:+.2f} %)\n", to_milliseconds(std::abs(difference)),
        difference > 0 ? "longer" : "less",
        100.0 * static_cast<double>(difference) / static_cast<double>(std::max(w.step_a, Picoseconds{1})));
}

std::string waterfall_text(const Waterfall& w) {
    std::string text = headline(w);
    text += fmt::format("  {:<20} {:>14} {:>14} {:>14}\n", "ms, mean over ranks", "A", "B", "B - A");
    const std::vector<Picoseconds> differences(w.difference.begin(), w.difference.end());
    const std::vector<std::int64_t> rounded = rounded_to_sum(differences, microsecond);
    for (const StepTerm term : largest_first(w)) {
        const auto i = static_cast<std::size_t>(term);
        if (rounded[i] == 0) continue;
        text += fmt::format("  {:<20} {:>14.3f} {:>14.3f} {:>+14.3f}\n", to_string(term), to_milliseconds(w.a[i]),
                            to_milliseconds(w.b[i]), in_ms(rounded[i]));
    }
    return text + fmt::format("  {:<20} {:>14.3f} {:>14.3f} {:>+14.3f}\n", "step", to_milliseconds(w.step_a),
                              to_milliseconds(w.step_b),
                              in_ms(std::accumulate(rounded.begin(), rounded.end(), std::int64_t{0})));
}

/// Memory in GiB.
std::string figure_text(const std::string& key, double value) {
    return key.ends_with("_bytes") ? fmt::format("{:.2f} GiB", value / gibi) : fmt::format("{:.6g}", value);
}

std::string figures_text(const std::vector<FigureDifference>& figures) {
    std::string text = fmt::format("  {:<28} {:>14} {:>14} {:>10}\n", "figure", "A", "B", "B / A");
    bool any = false;
    for (const FigureDifference& f : figures) {
        if (f.a == f.b) continue;
        any = true;
        const std::string ratio = f.a != 0.0 ? fmt::format("{:.4f}", f.ratio()) : "-";
        text += fmt::format("  {:<28} {:>14} {:>14} {:>10}\n", f.key, figure_text(f.key, f.a), figure_text(f.key, f.b),
                            ratio);
    }
    return any ? text : "";
}

std::string side_text(const char* name, const Run& run, const std::vector<std::size_t>& only, std::size_t outside) {
    std::string text = fmt::format("  only in {}: {}", name, only.size());
    if (!only.empty()) text += fmt::format(" ({})", kinds_text(run.spans, only));
    if (outside > 0) text += fmt::format("; {} of other steps are not compared", outside);
    return text + "\n";
}

std::string matching_text(const Run& a, const Run& b, const Comparison& c) {
    if (a.spans.size() == 0 || b.spans.size() == 0) {
        return fmt::format("Passes are not compared: {} has none\n", a.spans.size() == 0 ? "A" : "B");
    }
    std::vector<std::string> levels;
    for (int i = 0; i < match_level_count; ++i) {
        const std::size_t count = c.matched[static_cast<std::size_t>(i)];
        if (count > 0) levels.push_back(fmt::format("{} {}", count, to_string(static_cast<MatchLevel>(i))));
    }
    std::string text = fmt::format("{:.1f} % of the spans match: {} pairs", 100.0 * c.match_ratio(), c.pairs.size());
    if (!levels.empty()) text += fmt::format(" ({})", fmt::join(levels, ", "));
    text += "\n" + side_text("A", a, c.only_a, c.outside_a) + side_text("B", b, c.only_b, c.outside_b);
    return text;
}

}  // namespace

std::vector<std::int64_t> rounded_to_sum(const std::vector<Picoseconds>& values, Picoseconds unit) {
    const auto down = [&](Picoseconds value) { return (value >= 0 ? value : value - unit + 1) / unit; };
    std::vector<std::int64_t> rounded;
    rounded.reserve(values.size());
    Picoseconds sum = 0;
    std::int64_t missing = 0;
    for (const Picoseconds value : values) {
        rounded.push_back(down(value));
        sum += value;
        missing -= rounded.back();
    }
    missing += down(sum + unit / 2);
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto rest = [&](std::size_t i) { return values[i] - rounded[i] * unit; };
    std::vector<Picoseconds> rests;
    rests.reserve(values.size());
    for (const std::size_t i : order) rests.push_back(rest(i));
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rests[a] > rests[b]; });
    for (std::size_t i = 0; i < static_cast<std::size_t>(missing); ++i) ++rounded[order[i]];
    return rounded;
}

std::string kinds_text(const SpanTable& spans, const std::vector<std::size_t>& which) {
    std::array<std::size_t, span_kind_count> counts{};
    for (const std::size_t span : which) ++counts[static_cast<std::size_t>(spans.kind[span])];
    std::array<std::size_t, span_kind_count> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
    std::vector<std::string> texts;
    for (const std::size_t kind : order) {
        if (counts[kind] == 0) break;
        texts.push_back(fmt::format("{} {}", counts[kind], to_string(static_cast<SpanKind>(kind))));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::string compare_text(const Run& a, const Run& b, const Comparison& comparison) {
    // What makes times incomparable comes before all else.
    const std::vector<SettingDifference> work = different_work(comparison.settings);
    std::string text = work.empty() ? "" : fmt::format("Different work: {}\n", pairs_text(work));
    text += fmt::format("A  {} ({})\nB  {} ({})\n\n", a.name, to_string(a.source), b.name, to_string(b.source));
    text += settings_text(comparison.settings);
    for (std::size_t i = work.empty() ? 0 : 1; i < comparison.notes.size(); ++i) {  // the first is on top already
        text += fmt::format("  note: {}\n", comparison.notes[i]);
    }
    text += "\n";
    if (a.accounts.empty() || b.accounts.empty()) {
        text += fmt::format("Step: A {:.3f} ms, B {:.3f} ms; where the time goes is not known of {}\n",
                            to_milliseconds(a.step_time), to_milliseconds(b.step_time), a.accounts.empty() ? "A" : "B");
    } else {
        text += waterfall_text(waterfall(a, b));
    }
    const std::string figures = figures_text(compare_figures(a, b));
    if (!figures.empty()) text += "\n" + figures;
    return text + "\n" + matching_text(a, b, comparison);
}

}  // namespace foreshard
