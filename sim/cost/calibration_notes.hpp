#pragma once

#include <string>
#include <vector>

#include "sim/plan/op_graph.hpp"
#include "sim/plan/task_graph.hpp"

namespace foreshard {

/// Which times of a job's ops come from its calibration, which do not, and which lie outside what was measured; in
/// words. Empty without a calibration.
std::vector<std::string> calibration_notes(const Job& job, const TaskGraph& graph);

}  // namespace foreshard
