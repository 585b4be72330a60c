#pragma once

#include <vector>

#include "sim/plan/comm_program.hpp"
#include "sim/plan/dry_run.hpp"
#include "sim/plan/schedules.hpp"

namespace foreshard::test {

/// Every schedule that we can generate, for p ranks and m micro-batches where the shape allows it, chunks up to three;
/// automatic ones for equal times.
std::vector<Schedule> all_schedules(int p, int m);

/// Shapes (p, m) around the places where schedules change: m below, at and above p and 2p.
std::vector<std::pair<int, int>> schedule_shapes();

/// Steps of every rank in the dry run's global message order, each message alone, before the first action that starts
/// at or after its key. A fused unit is one step.
CommProgram program_of(const Schedule& schedule, const DryRun& run);

}  // namespace foreshard::test
