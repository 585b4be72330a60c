#pragma once

#include <optional>
#include <string>

#include "sim/plan/schedule.hpp"

/// Schedules as CSV: a line per rank, a cell per action (`2F0`, `3I1`, `3W1`, `3B1`, fused pair `0F3&1B0`; of a
/// split vocabulary `3S1`, `3T1`).
namespace foreshard {

/// What a schedule file is checked against; unset values are read from the file.
struct ScheduleShape {
    int ranks = 0;                                             ///< always known: pp
    std::optional<int> microbatches;                           ///< from the batch
    std::optional<int> chunks;                                 ///< --vpp
    std::optional<Placement> placement;                        ///< --placement
    std::optional<VocabularySplit> vocabulary = std::nullopt;  ///< of --schedule; without it S and T are refused
};

/// Reads and validates a grid. Empty cells are skipped.
/// @throws InputError naming file, line, cell, the value and the rule broken; an order that deadlocks is refused too
Schedule parse_schedule_csv(const std::string& file, const std::string& text, const ScheduleShape& shape);

/// Only counts lines (ranks), stages and micro-batches, for defaults of --pp and --gbs.
struct ScheduleExtent {
    int ranks = 0;
    int stages = 0;
    int microbatches = 0;
};
ScheduleExtent schedule_extent(const std::string& file, const std::string& text);

std::string to_csv(const Schedule& schedule);

}  // namespace foreshard
