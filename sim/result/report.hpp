#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/result/account.hpp"
#include "sim/result/critical_path.hpp"
#include "sim/result/memory_profile.hpp"
#include "sim/spec/job.hpp"

/// Everything that is told about a plan, computed from a Timeline.
namespace foreshard {

/// Of asynchronous plans: updates between a gradient's pull and its use.
struct Staleness {
    double mean = 0.0;
    std::vector<double> histogram;     ///< share of gradients by staleness, sums to 1
    double learning_rate_scale = 1.0;  ///< mean of 1 / max(staleness, 1)
    double updates_per_s = 0.0;
};

/// Numbers that are not known are absent. Times are of the window's step.
struct Summary {
    double step_time_ms = 0.0;
    std::optional<double> step_time_low_ms;  ///< band of the calibration, or else of the profile
    std::optional<double> step_time_high_ms;
    std::optional<int> runs;                  ///< with different random numbers; step_time_ms is that of the first
    std::optional<double> step_time_mean_ms;  ///< over the runs
    std::optional<double> step_time_p90_ms;   ///< nearest rank
    double samples_per_s = 0.0;
    double tokens_per_s = 0.0;
    double tokens_per_s_per_gpu = 0.0;
    double model_tflops_per_gpu = 0.0;         ///< 3 x forward, full attention, no recompute
    double model_tflops_per_gpu_causal = 0.0;  ///< only the lower half of causal scores
    double mfu_ratio = 0.0;                    ///< of the dense peak of the plan's precision
    double hfu_ratio = 0.0;                    ///< recomputed FLOPs counted too
    double gpu_busy_ratio = 0.0;
    double bubble_ratio = 0.0;
    double bubble_over_ideal_ratio = 0.0;
    double bubble_span_ratio = 0.0;
    double exposed_tp_ms = 0.0;  ///< exposed communication: means over ranks
    double exposed_cp_ms = 0.0;
    double exposed_ep_ms = 0.0;
    double exposed_pp_ms = 0.0;
    double exposed_dp_ms = 0.0;
    double exposed_offload_ms = 0.0;
    double hidden_dp_ms = 0.0;  ///< data-parallel communication that runs under compute, mean over ranks
    ByteCount peak_memory = 0;
    ByteCount peak_reserved = 0;
    ByteCount peak_device = 0;
    int peak_memory_rank = 0;
    ByteCount memory_capacity = 0;
    MemoryVerdict verdict = MemoryVerdict::fits;
    bool fits = true;
    std::optional<Staleness> staleness;
};

struct RankReport {
    int rank = 0;  ///< simulated rank of the task graph
    int pp_rank = 0;
    int replica = -1;  ///< data-parallel index; -1: stands for all
    int ranks_represented = 1;
    std::vector<int> stages;
    int layers = 0;
    RankAccount account{};
    RankMemory memory;
};

/// A kind of communication: how much, how long, what limits it.
struct CommReport {
    std::string axis;
    std::string collective;
    int from_rank = -1;  ///< pipeline ranks; -1 for groups inside a rank class
    int to_rank = -1;
    int group_size = 1;
    int domains = 1;
    double message_bytes = 0.0;
    double time_us = 0.0;
    std::string limit;
};

/// What an automatic split of layers over stages gained over the even one.
struct Balance {
    std::vector<int> layers;  ///< per stage
    std::vector<int> even_layers;
    double even_step_time_ms = 0.0;
    double gain_ms = 0.0;
};

/// The step by closed form or lower bound, beside the simulated one.
struct EstimateReport {
    double step_time_ms = 0.0;
    bool exact = false;
    std::string form;
    double gap_ratio = 0.0;  ///< 1 - estimate / simulated
};

struct Report {
    Summary summary;
    std::vector<RankReport> ranks;
    std::vector<PathSegment> critical_path;
    std::vector<CommReport> communication;
    std::optional<Balance> balance;
    std::optional<EstimateReport> estimate;
    std::vector<NamedBytes> workspaces;
    std::vector<NamedBytes> runtime;
    std::vector<std::string> assumptions;
    std::vector<std::string> warnings;
};

Report make_report(const Job& job, const TaskGraph& graph, const BufferPlan& buffers, const Timeline& timeline);

/// Every numeric key of the report's summary, by name, for conditions on them. Exposed communication is named
/// "exposed_comm_ms.tp"; `fits` is 0 or 1.
std::map<std::string, double> summary_figures(const Report& report);

}  // namespace foreshard
