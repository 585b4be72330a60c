#pragma once

#include <optional>
#include <string>

/// What it costs to run a machine, and how often it fails. Nothing of it changes a step's time.
namespace foreshard {

/// Each in the unit that its name says; absent: not known.
struct OperatingFigures {
    std::optional<double> price_usd_per_gpu_hour;
    std::optional<double> gpu_idle_w;              ///< drawn by a GPU that waits
    std::optional<double> gpu_busy_w;              ///< drawn by a GPU that computes; not less
    std::optional<double> node_rest_w;             ///< drawn by a node beside its GPUs
    std::optional<double> node_mtbf_h;             ///< mean time between failures of one node that stop a job
    std::optional<double> checkpoint_s;            ///< time that training stands still for a checkpoint
    std::optional<double> storage_write_gb_per_s;  ///< of the whole job, 10^9 bytes; gives checkpoint_s
    std::optional<double> restart_s;               ///< from a failure until training goes on at the last checkpoint
    bool operator==(const OperatingFigures&) const = default;
};

/// Calls visit(key, member pointer, meaning) for every figure, so that files, flags and results cannot disagree.
template <class Visit>
void visit_operating_figures(Visit&& visit) {
    using F = OperatingFigures;
    visit("price_usd_per_gpu_hour", &F::price_usd_per_gpu_hour, "Price of a GPU, US dollars an hour");
    visit("gpu_idle_W", &F::gpu_idle_w, "Power of a GPU that waits, W");
    visit("gpu_busy_W", &F::gpu_busy_w, "Power of a GPU that computes, W");
    visit("node_rest_W", &F::node_rest_w, "Power of a node beside its GPUs, W (default 0)");
    visit("node_mtbf_h", &F::node_mtbf_h, "Mean time between failures of a node that stop a job, hours");
    visit("checkpoint_s", &F::checkpoint_s, "Time that training stands still for a checkpoint, s");
    visit("storage_write_GB_per_s", &F::storage_write_gb_per_s,
          "Bandwidth of the whole job to storage, GB/s: in place of checkpoint_s");
    visit("restart_s", &F::restart_s, "Time from a failure until training goes on at the last checkpoint, s");
}

/// What `said` knows wins over what `of_cluster` knows. A checkpoint time and a bandwidth to storage are two ways to
/// say the same: a said one replaces both.
OperatingFigures merge(const OperatingFigures& of_cluster, const OperatingFigures& said);

/// Why the figures contradict themselves or are out of range; empty: they do not. `key` names the figure.
struct OperatingFault {
    std::string key;
    std::string reason;
};
std::optional<OperatingFault> check(const OperatingFigures& figures);

/// "--gpu-idle-w" of "gpu_idle_W".
std::string operating_flag(const std::string& key);

}  // namespace foreshard
