#pragma once

#include <string>

#include "sim/result/report.hpp"

/// The report for people, at most 80 columns wide.
namespace foreshard {

/// Plan in three lines, figures, and a table of pipeline ranks.
std::string simulate_text(const Job& job, const Report& report);

/// Memory of every rank by category, verdict, and what is live at the peak.
std::string memory_text(const Job& job, const Report& report);

/// An account per rank that sums to the step, the critical path in words, communication, and assumptions.
std::string explain_text(const Job& job, const Report& report);

}  // namespace foreshard
