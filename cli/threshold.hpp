#pragma once

#include <map>
#include <string>
#include <vector>

namespace foreshard::cli {

/// A condition on a figure of the report, as in --fail-if 'step_time_ms>900'.
struct Threshold {
    enum class Comparison { less, less_equal, greater, greater_equal, equal, not_equal };
    std::string text;
    std::string key;
    Comparison comparison = Comparison::greater;
    double value = 0.0;
};

/// @throws InputError for anything but KEY OPERATOR NUMBER
Threshold parse_threshold(const std::string& text);

/// True when the condition holds, so that the program must fail.
/// @throws InputError for a key that is not in `figures`, with the list of keys
bool holds(const Threshold& threshold, const std::map<std::string, double>& figures);

std::vector<Threshold> parse_thresholds(const std::vector<std::string>& texts);

/// Prints every condition that holds as an error. True when there is one.
bool report_missed(const std::vector<Threshold>& thresholds, const std::map<std::string, double>& figures);

}  // namespace foreshard::cli
