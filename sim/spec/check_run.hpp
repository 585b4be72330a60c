#pragma once

#include <vector>

#include "sim/spec/job.hpp"

/// Internal to check*.cpp.
namespace foreshard {

using Rules = std::vector<BrokenRule>;

/// Rules about how the plan is run: batch, schedule, recomputation, data parallelism, cluster, order, stage times.
/// Precondition: all counts are positive.
void check_run(const Job& job, Rules& rules);

/// Rules about speeds of ranks and links and about overlap of collectives inside passes.
void check_variability(const Job& job, Rules& rules);

/// Rules of data parallelism: sharding degrees, what excludes what.
void check_data_parallel(const Job& job, Rules& rules);

/// Rules about the schedule: its chunks, its placement, and the ranks and micro-batches that it admits.
void check_schedule(const Job& job, Rules& rules);

}  // namespace foreshard
