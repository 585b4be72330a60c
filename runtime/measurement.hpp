#pragma once

#include <string>
#include <vector>

#include "runtime/job_run.hpp"
#include "sim/result/timeline.hpp"

/// Figures of a run: medians over recorded steps, and one timeline.
namespace foreshard::runtime {

/// Of some durations. Percentiles are nearest ranks.
struct Spread {
    int count = 0;
    double median_ms = 0.0;
    double p10_ms = 0.0;
    double p90_ms = 0.0;
    double min_ms = 0.0;
    double max_ms = 0.0;
    double mean_ms = 0.0;
};
Spread spread_of(std::vector<double> durations_ms);

/// One run of the graph, all ranks together: from the first start to the last end, over the graph's steps.
struct StepMeasure {
    double time_ms = 0.0;
    double loss = 0.0;  ///< of the last step
    bool warmup = false;
    bool recorded = false;
};

/// A task of the ranks that stand for all: tensor and data parallel index 0.
struct TaskMeasure {
    std::int32_t task = 0;
    Spread duration;     ///< compute, or transfer once all members have arrived
    double wait_ms = 0;  ///< median time from its turn to the arrival of the last member; 0 for compute
};

struct RankMeasure {
    int rank = 0;
    RankPosition position;
    double busy_ms = 0.0;      ///< compute, median step
    double waiting_ms = 0.0;   ///< communication tasks: for other ranks, sum over streams, median step
    double transfer_ms = 0.0;  ///< communication tasks: data in flight
    MemoryUse high_water;
    PoolUse pool;
    ClockOffset clock;
};

struct Measurement {
    std::vector<StepMeasure> steps;
    Spread step;   ///< recorded steps after the warm-up
    Spread plain;  ///< steps that were not recorded; count 0 when there were none
    std::vector<TaskMeasure> tasks;
    std::vector<RankMeasure> ranks;
    int timeline_run = -1;  ///< the recorded run whose time is nearest to the median
};

/// Where a device runs behind, a rank's spans say when its queue reached a communication, not when the others' did:
/// sets the start of each so that from there to its end is the transfer (transfer_time.hpp), and what comes before is
/// waiting. Precondition: all records are on one clock.
void find_arrivals(const Plan& plan, Outcome& outcome);

/// Precondition: outcome.failure is empty and at least one run is recorded.
Measurement measure(const Plan& plan, const Outcome& outcome);

/// The run with the median time as the graph's timeline, from the ranks of tensor and data parallel index 0.
Timeline timeline_of(const Plan& plan, const Outcome& outcome, int run);

/// Mean times of the passes of every stage over recorded runs; a whole backward is halved into i and w.
StageTimes stage_times_of(const Plan& plan, const Outcome& outcome);

}  // namespace foreshard::runtime
