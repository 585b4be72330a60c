#pragma once

#include <string>
#include <vector>

#include "sim/validate/validate.hpp"

namespace foreshard {

/// `foreshard.validation` 1.1 (docs/formats.md).
std::string validation_json(const Validation& validation);

/// Medians per source as they stood when they were recorded: {"schema": "foreshard.validation-record", "sources":
/// {source: {"rows", "median_abs_pct", "p90_abs_pct"}}}.
std::string record_json(const Validation& validation);

/// Sources whose median step-time error grew by more than `points` over the record, or that lost rows; one line each.
/// @throws UnreadableFile, InputError
std::vector<std::string> regressions(const Validation& validation, const std::string& record_file, double points);

}  // namespace foreshard
