#pragma once

#include <string>

#include "sim/validate/validate.hpp"

namespace foreshard {

/// A line per source: rows, median, mean, P90, bias of step time; memory by kind; what was skipped and why.
std::string validation_text(const Validation& validation);

/// A line per row: measured, predicted, error.
std::string validation_rows_text(const Validation& validation);

/// One column per source, one line per ablation: median absolute step-time error, percent.
std::string ablation_text(const std::vector<PublishedRun>& runs);

}  // namespace foreshard
