#pragma once

#include <string>
#include <vector>

#include "sim/cost/pass_time.hpp"
#include "sim/plan/dry_run.hpp"
#include "sim/plan/task_graph.hpp"
#include "sim/plan/work_duration.hpp"

/// Every cost of a TaskGraph, computed once per distinct work and message and rounded once.
namespace foreshard {

/// Offload to the host. Where a device file has no measured copy rate: PCIe 4.0 x16 to and from pinned memory, assumed.
/// DeepSpeed's CPU Adam over all cores of a host takes about 0.1 s for 10^9 parameters (ZeRO-Offload, arXiv 2101.06840;
/// assumed, not measured), shared by the node's GPUs.
inline constexpr BytesPerSecond assumed_host_link(20e9);
inline constexpr double host_adam_parameters_per_second = 1e10;
BytesPerSecond host_link(const DeviceSpec& device);

struct CommDuration {
    Picoseconds busy = 0;     ///< the stream cannot start its next message before
    Picoseconds latency = 0;  ///< from then to arrival
    Picoseconds wire = 0;     ///< part of `busy` that shrinks as links get faster
    int blocks = 0;           ///< thread blocks on every member's GPU
};

/// Of a work's time, as shares of the whole.
struct WorkShares {
    double kernels = 1.0;  ///< on the device's own units: not host, not exposed communication
    double memory = 0.0;   ///< part of `kernels` that memory bandwidth bounds
    double nvlink = 0.0;   ///< exposed communication that shrinks as NVLink gets faster
    double nic = 0.0;
};

/// Bytes that each member of a group sends in the exposed collectives inside a pass.
struct PassTraffic {
    double tp = 0.0;
    double cp = 0.0;
    double ep = 0.0;
};

/// How fast a simulated rank is; of its tensor and context parallel ranks, the slowest.
struct RankSpeed {
    double compute = 1.0;
    double nvlink = 1.0;
    double nic = 1.0;
};

/// Random variation of every compute task, drawn anew for each of `members` ranks; the slowest counts.
struct Jitter {
    double deviation = 0.0;  ///< standard deviation over mean
    std::uint64_t seed = 0;
    int run = 0;
    int members = 1;
};

struct Durations {
    std::vector<WorkDuration> works;   ///< like TaskGraph::works
    std::vector<CommDuration> comms;   ///< like TaskGraph::comm_classes
    std::vector<std::string> limits;   ///< what bounds each comm class, in words
    std::vector<WorkShares> shares;    ///< like TaskGraph::works
    std::vector<PassTraffic> traffic;  ///< the same
    std::vector<RankSpeed> ranks;      ///< per simulated rank; empty: all at full speed
    Jitter jitter;
};

/// Costs by the models.
Durations durations(const Job& job, const TaskGraph& graph, const CostModel& cost, const NetworkModel& network);

/// Time of a whole pass of a stage, from the times of its blocks and its own overhead, rounded like every work.
WorkDuration whole_pass(const StageOps& stage, const std::vector<BlockTimes>& blocks, Pass pass, Seconds overhead);

/// The same of a part of a pass; the overhead counts where the part holds the stage's first unit.
WorkDuration part_of_pass(const StageOps& stage, const std::vector<BlockTimes>& blocks, const Work& work,
                          Seconds overhead);

/// What compute loses to communication that is in flight beside it.
Picoseconds lost_beside(const Job& job, Picoseconds compute, Picoseconds communication);

/// What a pipeline's F, B, I and W take beside their kernels; none without a pipeline, unless a calibration measured
/// it.
Seconds pass_overhead(const Job& job);

/// Time of one message or collective between ranks, as Durations has it.
CommDuration comm_duration(const Job& job, const NetworkModel& network, const CommClass& comm);

/// Update of so many parameters on the host: gradients go there, and updated weights come back (unless they stay
/// there); nothing overlaps.
Seconds offloaded_update(const Job& job, double parameters);

/// Pass times of every stage and the longest way of a message between neighbouring ranks, for schedules that follow
/// times.
PassCosts pass_costs(const Job& job, const CostModel& cost, const NetworkModel& network);

/// Costs given by the user (--stage-times). Precondition: the graph was lowered from a job with stage times.
Durations given_durations(const StageTimes& times, const TaskGraph& graph);

/// Parameters that the rank's optimizer updates: replicated ones or its shard of them.
double optimizer_parameters(const Job& job, const TaskGraph& graph, int rank);

}  // namespace foreshard
