#include "sim/engine/assumptions.hpp"

#include <fmt/format.h>

#include "sim/cost/durations.hpp"
#include "sim/cost/pass_time.hpp"
#include "sim/cost/variation.hpp"
#include "sim/engine/data_parallel_times.hpp"
#include "sim/engine/near_messages.hpp"
#include "sim/prefixes.hpp"
#include "sim/spec/schedule_kinds.hpp"

namespace foreshard {

namespace {

std::string contention_note(const Job& job) {
    std::string note;
    switch (job.plan.contention) {
        case Contention::off:
            note = "links are free of contention";
            break;
        case Contention::links:
            note = "concurrent communication shares links max-min fairly; compute is not slowed by it";
            break;
        case Contention::full:
            note = "concurrent communication shares links max-min fairly, and SMs and memory with compute";
            break;
    }
    return note +
           (ranks_alike(job.plan.variability) ? "; all replicas run at the same speed" : "; ranks differ as asked for");
}

std::string host_rate(const DeviceSpec& device) {
    return fmt::format(
        "{:.0f} GB/s ({})", host_link(device).value / 1e9,
        device.host_link.value > 0.0 ? "the device file's figure for its bus generation or link" : "assumed");
}

void add_offload_notes(const Job& job, std::vector<std::string>& notes) {
    if (job.plan.offload_optimizer) {
        notes.push_back(
            fmt::format("optimizer offload moves {}, a host updates {:.0f} x 10^9 parameters/s (assumed); nothing "
                        "overlaps",
                        host_rate(job.cluster.device), host_adam_parameters_per_second / 1e9));
    }
    if (job.plan.offload_parameters) {
        notes.push_back(
            fmt::format("a rank's shard of every gather comes from the host first, {}, on the stream of "
                        "gathers",
                        host_rate(job.cluster.device)));
    }
    if (job.plan.offload_activation_layers > 0) {
        notes.push_back(
            fmt::format("saved tensors of the first {} layers of every stage wait on the host: {} each "
                        "way, at most two layers on their way; GPUs share no link to it",
                        job.plan.offload_activation_layers, host_rate(job.cluster.device)));
    }
}

}  // namespace

std::vector<std::string> schedule_assumptions(const Job& job) {
    if (job.schedule_file) return {};
    const ParallelPlan& plan = job.plan;
    const ScheduleTraits& traits = traits_of(plan.schedule);
    std::vector<std::string> notes;
    if (plan.schedule == ScheduleKind::pipedream) {
        notes.push_back(
            fmt::format("pipedream: an update after every backward; gradients of rank r are {}-r updates "
                        "old, and it holds {}-r versions of its weights",
                        plan.pp - 1, plan.pp));
    }
    if (plan.schedule == ScheduleKind::pipedream_2bw) {
        notes.push_back(
            fmt::format("pipedream-2bw: an update after every {} micro-batches, with gradients one update "
                        "old; two versions of the weights",
                        microbatch_count(job)));
    }
    if (traits.asynchronous) notes.emplace_back("no flush: the step time is that of a global batch in steady state");
    if (traits.asynchronous && job.model.tied_embeddings) {
        notes.emplace_back("embedding and output matrix are not tied: ranks update on their own");
    }
    if (traits.split_backward && plan.skew_steps == 0) {
        notes.emplace_back(
            "the step is the makespan; where ranks may start the next step on their own: --skew-steps 3");
    }
    return notes;
}

std::vector<std::string> model_assumptions(const Job& job) {
    if (job.stage_times) return {"all pass times are given; optimizer, gradient sync and per-step work are left out"};
    const DeviceSpec& device = job.cluster.device;
    const ProfileNumbers& numbers = job.software.numbers;
    const bool measured = device.kernels && activation_bytes(job.plan.precision) == 2;
    std::vector<std::string> notes = {
        measured ? fmt::format("GEMMs and attention by the measured kernels of {}, GEMM time x {:.2f}",
                               device.kernels->id, numbers.gemm_time_factor)
                 : fmt::format("no kernel table for {} in {}: GEMMs at {:.2f} of the peak", device.id,
                               to_string(job.plan.precision), device.gemm_ratio / numbers.gemm_time_factor),
        fmt::format("memory-bound kernels at {:.2f} of the bandwidth of {}",
                    device.memory_ratio / numbers.memory_time_factor, device.id),
        contention_note(job)};
    if (numbers.launch_blocking > Seconds(0.0)) {
        notes.push_back(fmt::format("the host waits for every kernel (CUDA_LAUNCH_BLOCKING=1), {:.0f} us each",
                                    numbers.launch_blocking.value / micro));
    }
    if (numbers.dp_contention_ratio > 0.0 && shards_parameters(job.plan)) {
        notes.push_back(fmt::format("compute beside gathers and reductions loses {:.2f} of their time",
                                    numbers.dp_contention_ratio));
    }
    if (const double ratio = vocabulary_slowdown(job); ratio > 0.0) {
        notes.push_back(
            fmt::format("kernels of layers take {:.1f} % longer beside collectives of the vocabulary", 100.0 * ratio));
    }
    if (uses_parameter_server(job.plan)) {
        notes.emplace_back("the parameter server is a queue simulated apart; an executor cannot run this plan");
        notes.push_back(
            fmt::format("each server updates at {:.0f} GB/s of host memory (assumed)", host_bytes_per_second / 1e9));
    }
    if (job.software.structure.counts_buffers && job.plan.pp > 1) {
        notes.push_back(fmt::format("messages that come or go within {:.0f} % of a pass of its end count beside it",
                                    100.0 * near_message_ratio));
    }
    add_offload_notes(job, notes);
    if (gradient_bytes(job) == 4 && activation_bytes(job.plan.precision) == 2) {
        notes.emplace_back("gradients accumulate in fp32: 6 bytes a parameter and micro-batch beside their GEMMs");
    }
    if (job.plan.data_parallel == DataParallelKind::local_sgd) {
        notes.push_back(fmt::format("a step bears 1/{} of an outer step", job.plan.local_steps));
    }
    if (job.plan.cp > 1) notes.emplace_back("context parallel ranks share causal attention evenly; KV moves under it");
    if (job.model.moe) notes.emplace_back("tokens are routed to experts evenly, none is dropped");
    if (job.cluster.fits.empty() && job.gpus > 1) {
        notes.push_back("no measured collectives for " + job.cluster.id + ": NCCL's own model");
    }
    return notes;
}

}  // namespace foreshard
