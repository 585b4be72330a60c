#pragma once

#include <optional>
#include <vector>

#include "runtime/carrier.hpp"
#include "runtime/mpi_session.hpp"
#include "runtime/reference.hpp"

/// A whole job: all ranks as threads of this process, or this process as one of many.
namespace foreshard::runtime {

struct JobOptions {
    TrainOptions train;
    bool check = false;
    std::chrono::duration<double> timeout{300};
    Carrier carrier;  ///< who moves data between threads; by default the processor
};

/// This process among those of a job, each a rank.
struct ProcessGroup {
    Transport& transport;
    std::function<ClockOffset()> measure_clock;  ///< all ranks call it, before anything else
    std::function<std::string()> waits;          ///< what threads of this rank wait for, empty for nothing
};

/// What is known at the end, or when something failed. Of several processes complete on rank 0 only; after a failure it
/// has that rank's own record.
struct Outcome {
    std::vector<RankRecord> ranks;
    std::vector<ClockOffset> clocks;  ///< per rank; records are on rank 0's clock
    std::optional<Comparison> comparison;
    std::optional<Failure> failure;
};

struct Listener {
    Progress progress;  ///< called on rank 0's thread
    /// The process must end though some of its threads cannot; must not return.
    std::function<void(const Outcome&)> stuck = nullptr;
};

Outcome run_as_threads(const Plan& plan, const JobOptions& options, const Listener& listener);

/// @throws InputError when the number of processes is not that of the plan's ranks
/// Where SIGTERM is blocked in all threads, its arrival (mpirun sends it when a rank is lost) ends the process with
/// listener.stuck.
Outcome run_as_process(const Plan& plan, const JobOptions& options, const ProcessGroup& group,
                       const Listener& listener);

}  // namespace foreshard::runtime
