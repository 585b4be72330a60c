#include "cli/threshold.hpp"

#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/messages.hpp"
#include "sim/error.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard::cli {

namespace {

using Comparison = Threshold::Comparison;

/// Longer operators first: "<=" must not be read as "<".
const std::vector<std::pair<std::string, Comparison>>& operators() {
    static const std::vector<std::pair<std::string, Comparison>> all = {
        {"<=", Comparison::less_equal}, {">=", Comparison::greater_equal}, {"==", Comparison::equal},
        {"!=", Comparison::not_equal},  {"<", Comparison::less},           {">", Comparison::greater}};
    return all;
}

std::string trimmed(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string::npos) return "";
    return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

double parse_number(const std::string& text, const std::string& whole) {
    double value = 0.0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || !std::isfinite(value)) {
        throw InputError("--fail-if", "", fmt::format("'{}' in '{}' is not a number", text, whole));
    }
    return value;
}

}  // namespace

Threshold parse_threshold(const std::string& text) {
    const std::size_t at = text.find_first_of("<>=!");
    for (const auto& [symbol, comparison] : operators()) {
        if (at == std::string::npos || text.compare(at, symbol.size(), symbol) != 0) continue;
        const std::string key = trimmed(text.substr(0, at));
        if (key.empty()) break;
        return {text, key, comparison, parse_number(trimmed(text.substr(at + symbol.size())), text)};
    }
    throw InputError(
        "--fail-if", "",
        fmt::format("'{}' must be KEY OPERATOR NUMBER with <, <=, >, >=, == or !=, e.g. step_time_ms>900", text));
}

bool holds(const Threshold& threshold, const std::map<std::string, double>& figures) {
    const auto found = figures.find(threshold.key);
    if (found == figures.end()) {
        std::vector<std::string> keys;
        keys.reserve(figures.size());
        for (const auto& [key, value] : figures) keys.push_back(key);
        const std::string close = did_you_mean(threshold.key, keys);
        throw InputError(
            "--fail-if", "",
            fmt::format("'{}' is not a figure of the summary{}; valid: {}", threshold.key,
                        close.empty() ? "" : fmt::format(" (did you mean {}?)", close), fmt::join(keys, ", ")));
    }
    const double value = found->second;
    switch (threshold.comparison) {
        case Comparison::less:
            return value < threshold.value;
        case Comparison::less_equal:
            return value <= threshold.value;
        case Comparison::greater:
            return value > threshold.value;
        case Comparison::greater_equal:
            return value >= threshold.value;
        case Comparison::equal:
            return value == threshold.value;
        case Comparison::not_equal:
            return value != threshold.value;
    }
    return false;
}

std::vector<Threshold> parse_thresholds(const std::vector<std::string>& texts) {
    std::vector<Threshold> thresholds;
    thresholds.reserve(texts.size());
    for (const std::string& text : texts) thresholds.push_back(parse_threshold(text));
    return thresholds;
}

bool report_missed(const std::vector<Threshold>& thresholds, const std::map<std::string, double>& figures) {
    bool any = false;
    for (const Threshold& threshold : thresholds) {
        if (!holds(threshold, figures)) continue;
        print_error("--fail-if: " + threshold.text);
        any = true;
    }
    return any;
}

}  // namespace foreshard::cli
