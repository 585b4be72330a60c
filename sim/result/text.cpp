#include "sim/result/text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/result/text_format.hpp"

namespace foreshard {

namespace {

std::string degrees(const Job& job) {
    const ParallelPlan& plan = job.plan;
    std::string text = fmt::format("tp {}  pp {}", plan.tp, plan.pp);
    if (plan.vpp > 1) text += fmt::format(" x {} chunks", plan.vpp);
    text += fmt::format("  dp {}", plan.dp);
    if (plan.cp > 1) text += fmt::format("  cp {}", plan.cp);
    if (plan.ep > 1) text += fmt::format("  ep {}", plan.ep);
    if (plan.sequence_parallel) text += "  sp";
    const std::string scheme = data_parallel_in_words(plan);
    if (!scheme.empty()) text += "  " + scheme;
    return text;
}

std::string schedule_name(const Job& job) {
    return job.schedule_file ? "file " + job.schedule_file->name : std::string(to_string(job.plan.schedule));
}

/// Name, value, remark; a remark that does not fit goes on in the next line, so that nothing is cut.
std::string figure(const std::string& name, const std::string& value, std::string remark) {
    constexpr std::size_t room = 40;
    std::string text = fmt::format("  {:<22}{:>13}   ", name, value);
    while (remark.size() > room) {
        const std::size_t space = remark.rfind(' ', room);
        if (space == std::string::npos) break;
        text += remark.substr(0, space) + "\n" + std::string(room, ' ');
        remark.erase(0, space + 1);
    }
    text += remark;
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
}

std::string step_time(const Job& job, const Summary& s) {
    const char* name = job.calibration ? "P10 to P90" : "P90 band";
    const std::string band = s.step_time_low_ms ? fmt::format("{} {} .. {}", name, milliseconds(*s.step_time_low_ms),
                                                              milliseconds(*s.step_time_high_ms))
                                                : "";
    return figure("step time", milliseconds(s.step_time_ms), band);
}

std::string exposed(const Summary& s) {
    const double total =
        s.exposed_tp_ms + s.exposed_cp_ms + s.exposed_ep_ms + s.exposed_pp_ms + s.exposed_dp_ms + s.exposed_offload_ms;
    std::string parts;
    const auto add = [&](const char* axis, double ms) {
        if (ms > 0.0) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", axis, milliseconds(ms));
    };
    add("tp", s.exposed_tp_ms);
    add("cp", s.exposed_cp_ms);
    add("ep", s.exposed_ep_ms);
    add("pp", s.exposed_pp_ms);
    add("dp", s.exposed_dp_ms);
    add("offload", s.exposed_offload_ms);
    if (s.hidden_dp_ms > 0.0) add("hidden dp", s.hidden_dp_ms);
    return figure("exposed communication", milliseconds(total), parts.empty() ? "" : parts);
}

std::string figures(const Job& job, const Summary& s) {
    std::string text = step_time(job, s);
    if (s.runs && s.step_time_mean_ms && s.step_time_p90_ms) {
        text += figure(fmt::format("over {} runs", *s.runs), milliseconds(*s.step_time_mean_ms),
                       fmt::format("mean; P90 {}", milliseconds(*s.step_time_p90_ms)));
    }
    text += figure("throughput", fmt::format("{:.0f} tok/s", s.tokens_per_s),
                   fmt::format("{:.1f} tokens/s per GPU, {:.2f} sequences/s", s.tokens_per_s_per_gpu, s.samples_per_s));
    text += figure("MFU", percent(s.mfu_ratio),
                   fmt::format("{:.1f} model TFLOP/s per GPU; HFU {}", s.model_tflops_per_gpu, percent(s.hfu_ratio)));
    text += figure("bubble", percent(s.bubble_ratio),
                   fmt::format("of the pipeline phase; {} over ideal", percent(s.bubble_over_ideal_ratio)));
    text += exposed(s);
    if (s.staleness) {
        text += figure("staleness", fmt::format("{:.2f} mean", s.staleness->mean),
                       fmt::format("updates between a gradient's pull and its use; learning rate x {:.3f}",
                                   s.staleness->learning_rate_scale));
    }
    text += figure("peak memory", gibibytes(s.peak_memory), fmt::format("allocated, pp rank {}", s.peak_memory_rank));
    text += figure("device memory", gibibytes(s.peak_device),
                   fmt::format("of {} usable: {}", gibibytes(s.memory_capacity), to_string(s.verdict)));
    return s.verdict == MemoryVerdict::fits ? text : text + figure("", "", verdict_reason(s));
}

std::string balance_figure(const Balance& balance) {
    const std::string layers = fmt::format("{}", fmt::join(balance.layers, ","));
    return figure(
        "balance", milliseconds(balance.gain_ms),
        fmt::format("less than the even split's {}; layers {}", milliseconds(balance.even_step_time_ms), layers));
}

}  // namespace

std::string heading(const Job& job) {
    std::string text = fmt::format("{}\n  {} x {} of {}, software {}\n", job.model.name, job.gpus,
                                   job.cluster.device.id, job.cluster.id, job.software.id);
    text += fmt::format("  {}\n", degrees(job));
    text += fmt::format("  micro-batch {}  global batch {} ({} micro-batches)  sequence {}  {}\n", job.micro_batch,
                        job.global_batch, microbatch_count(job), job.seq_length, to_string(job.plan.precision));
    text += fmt::format("  schedule {}  recompute {}\n", schedule_name(job), to_string(job.plan.recompute));
    return text;
}

std::string simulate_text(const Job& job, const Report& report) {
    std::string text = heading(job) + "\n" + figures(job, report.summary);
    if (report.balance) text += balance_figure(*report.balance);
    text += "\n";
    const auto* columns = "  {:>4} {:>6} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7} {:>8} {:>7}\n";
    text += fmt::format(fmt::runtime(columns), "pp", "layers", "busy", "bubble", "exposed", "weights", "optim.",
                        "activ.", "peak", "device");
    text += fmt::format(fmt::runtime(columns), "rank", "", "%", "%", "%", "GiB", "GiB", "GiB", "GiB", "GiB");
    const std::vector<std::size_t> shown = shown_ranks(report.ranks.size());
    for (std::size_t i = 0; i < shown.size(); ++i) {
        if (i > 0 && shown[i] != shown[i - 1] + 1) text += "   ...\n";
        const RankReport& rank = report.ranks[shown[i]];
        const double step = report.summary.step_time_ms;
        const double busy = to_milliseconds(busy_time(rank.account)) / step;
        const double bubble = to_milliseconds(rank.account[static_cast<std::size_t>(Account::bubble)]) / step;
        const double waits = exposed_ms(rank.account) / step;
        const RankMemory& m = rank.memory;
        text += fmt::format("  {:>4} {:>6} {:>7.1f} {:>7.1f} {:>7.1f} {:>8.2f} {:>7.2f} {:>7.2f} {:>8.2f} {:>7.2f}\n",
                            rank.pp_rank, rank.layers, 100.0 * busy, 100.0 * bubble, 100.0 * waits,
                            in_gib(m.states.weights + m.states.gradients), in_gib(m.states.optimizer),
                            in_gib(m.activations), in_gib(m.peak), in_gib(m.device));
    }
    text += "\n  busy includes exposed tp, cp, ep; weights include gradients; activations are\n";
    text += "  those at the peak; peak is allocated, device what the card's tool shows\n";
    return text;
}

std::string memory_text(const Job& job, const Report& report) {
    std::string text = heading(job) + "\n";
    const auto* columns = "  {:>4} {:>7} {:>7} {:>7} {:>7} {:>7} | {:>7} {:>7} {:>7} {:>7}\n";
    text += fmt::format(fmt::runtime(columns), "pp", "weights", "grads", "optim.", "activ.", "buffers", "peak",
                        "reserv.", "runtime", "device");
    text += fmt::format(fmt::runtime(columns), "rank", "GiB", "GiB", "GiB", "GiB", "GiB", "GiB", "GiB", "GiB", "GiB");
    const std::vector<std::size_t> shown = shown_ranks(report.ranks.size());
    for (const std::size_t r : shown) {
        const RankMemory& m = report.ranks[r].memory;
        text +=
            fmt::format("  {:>4} {:>7.2f} {:>7.2f} {:>7.2f} {:>7.2f} {:>7.2f} | {:>7.2f} {:>7.2f} {:>7.2f} {:>7.2f}\n",
                        report.ranks[r].pp_rank, in_gib(m.states.weights), in_gib(m.states.gradients),
                        in_gib(m.states.optimizer), in_gib(m.activations), in_gib(m.buffers), in_gib(m.peak),
                        in_gib(m.reserved), in_gib(m.runtime), in_gib(m.device));
    }
    const RankReport& worst = report.ranks[static_cast<std::size_t>(report.summary.peak_memory_rank)];
    text += fmt::format("\n  peak of pp rank {} at {}, live there:\n", worst.pp_rank,
                        milliseconds(to_milliseconds(worst.memory.peak_time)));
    for (const LiveSet& live : worst.memory.live) {
        text += fmt::format("    stage {:>3}: {:>4} micro-batches in flight, {:>8.2f} GiB of saved tensors\n",
                            live.stage, live.microbatches, in_gib(live.bytes));
    }
    text += "  inside the allocator, always:";
    for (const NamedBytes& part : report.workspaces)
        text += fmt::format(" {} {:.2f} GiB", part.name, in_gib(part.bytes));
    text += "\n  outside the allocator:\n";
    for (const NamedBytes& part : report.runtime) {
        text += fmt::format("    {:<32}{:>8.2f} GiB\n", part.name, in_gib(part.bytes));
    }
    text += fmt::format("\n  verdict: {} ({})\n", to_string(report.summary.verdict), verdict_reason(report.summary));
    return text;
}

}  // namespace foreshard
