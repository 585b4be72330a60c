#pragma once

#include <string>

#include "runtime/program/json_measured.hpp"
#include "sim/result/report.hpp"

namespace foreshard::runtime {

/// One line for stderr after a run of the graph.
std::string progress_line(int steps_done, int steps, const RunRecord& record, int steps_per_run);

/// What a run showed, for people.
std::string run_text(const RunReport& run, const Report& report);

/// The outcome of --check in a line or two.
std::string check_text(const Comparison& comparison);

}  // namespace foreshard::runtime
