#include "gui/app/figures.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/result/text_format.hpp"

namespace foreshard::gui {

namespace {

std::optional<double> figureOf(const Run& run, const std::string& key) {
    const auto found = run.figures.find(key);
    return found == run.figures.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> exposed(const Run& run) {
    std::optional<double> sum;
    for (const char* axis : {"tp", "cp", "ep", "pp", "dp"}) {
        if (const auto part = figureOf(run, std::string("exposed_comm_ms.") + axis)) sum = sum.value_or(0.0) + *part;
    }
    return sum;
}

ByteCount worstDevice(const Run& run) {
    ByteCount worst = 0;
    for (const RankMemory& memory : run.memory) worst = std::max(worst, memory.runtime + memory.peak);
    return worst;
}

bool isRatio(Figure figure) {
    return figure == Figure::mfu || figure == Figure::bubble;
}

}  // namespace

std::string_view titleOf(Figure figure) {
    static constexpr std::array<std::string_view, figure_count> titles = {"Step time", "Tokens/s",      "MFU",
                                                                          "Bubble",    "Exposed comm.", "Peak memory"};
    return titles[static_cast<std::size_t>(figure)];
}

std::optional<double> valueOf(const Run& run, Figure figure) {
    switch (figure) {
        case Figure::step_time:
            if (const auto step = figureOf(run, "step_time_ms")) return step;
            return run.step_time > 0 ? std::optional(to_milliseconds(run.step_time)) : std::nullopt;
        case Figure::tokens:
            return figureOf(run, "tokens_per_s");
        case Figure::mfu:
            return figureOf(run, "mfu_ratio");
        case Figure::bubble:
            return figureOf(run, "bubble_ratio");
        case Figure::exposed:
            return exposed(run);
        case Figure::memory:
            if (run.memory.empty()) return std::nullopt;
            return static_cast<double>(worstDevice(run));
    }
    return std::nullopt;
}

std::string textOf(Figure figure, double value) {
    switch (figure) {
        case Figure::step_time:
        case Figure::exposed:
            return milliseconds(value);
        case Figure::tokens:
            return value >= 1e6 ? fmt::format("{:.2f} M", value / 1e6) : fmt::format("{:.0f}", value);
        case Figure::mfu:
        case Figure::bubble:
            return percent(value);
        case Figure::memory:
            return fmt::format("{:.1f} GiB", in_gib(static_cast<ByteCount>(value)));
    }
    return "";
}

std::string differenceText(Figure figure, double a, double b) {
    if (isRatio(figure)) return fmt::format("{:+.1f} pts", 100.0 * (b - a));
    if (a == 0.0) return b == 0.0 ? "0.0 %" : "new";
    return fmt::format("{:+.1f} %", 100.0 * (b / a - 1.0));
}

Verdict verdictOf(Figure figure, double a, double b) {
    const double scale = isRatio(figure) ? 1.0 : std::max(std::abs(a), std::abs(b));
    if (std::abs(b - a) <= 0.0005 * scale) return Verdict::same;
    const bool more_is_better = figure == Figure::tokens || figure == Figure::mfu;
    return (b > a) == more_is_better ? Verdict::better : Verdict::worse;
}

bool fits(const Run& run) {
    return run.memory_capacity == 0 || worstDevice(run) <= run.memory_capacity;
}

std::string memoryText(const Run& run) {
    if (run.memory.empty()) return "";
    if (run.memory_capacity == 0) return fmt::format("{:.1f} GiB", in_gib(worstDevice(run)));
    const double held = in_gib(worstDevice(run));
    const double usable = in_gib(run.memory_capacity);
    return fits(run) ? fmt::format("{:.1f} of {:.1f} GiB", held, usable)
                     : fmt::format("OOM {:.1f}/{:.1f} GiB", held, usable);
}

}  // namespace foreshard::gui
