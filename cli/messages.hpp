#pragma once

#include <string>
#include <vector>

#include "sim/spec/job.hpp"

/// Messages for people, on stderr; coloured on a terminal unless NO_COLOR is set.
namespace foreshard::cli {

void print_error(const std::string& text);
void print_warning(const std::string& text);

/// One error a rule: "error: fields: rule; nearest valid: ...".
void print_broken_rules(const std::vector<BrokenRule>& rules);

}  // namespace foreshard::cli
