#pragma once

#include <vector>

#include "sim/plan/schedules.hpp"

namespace foreshard::test {

/// Every schedule that we can generate, for p ranks and m micro-batches where the shape allows it, chunks up to three;
/// automatic ones for equal times.
std::vector<Schedule> all_schedules(int p, int m);

/// Shapes (p, m) around the places where schedules change: m below, at and above p and 2p.
std::vector<std::pair<int, int>> schedule_shapes();

}  // namespace foreshard::test
