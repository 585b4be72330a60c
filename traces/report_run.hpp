#pragma once

#include "traces/read_report.hpp"

/// A report's run with its passes, for comparisons span by span.
namespace foreshard {

/// Of a measured report the measured step's tasks, at their measured times; of a simulated one the tasks of the job as
/// it is simulated now, where that gives the report's figures. Without spans where the report does not say enough, and
/// a note says why.
/// @throws InputError when the report's job cannot be resolved
Run run_with_spans(const ReadReport& report);

}  // namespace foreshard
