#include "sim/result/report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

double seconds(Picoseconds time) {
    return static_cast<double>(time) / picoseconds_per_second;
}

double per_second(double amount, Picoseconds time) {
    return time > 0 ? amount / seconds(time) : 0.0;
}

/// FLOPs that recomputation adds, of one rank and micro-batch, over all stages.
double recompute_flops(const TaskGraph& graph) {
    double flops = 0.0;
    for (const StageOps& stage : graph.stages) {
        for (const OpBlock& block : stage.blocks) flops += block.repeat * block.recompute_flops.value;
    }
    return flops;
}

void add_throughput(const Job& job, const TaskGraph& graph, Picoseconds step, Summary& summary) {
    const auto batch = static_cast<double>(job.global_batch);
    summary.samples_per_s = per_second(batch, step);
    summary.tokens_per_s = summary.samples_per_s * static_cast<double>(job.seq_length);
    summary.tokens_per_s_per_gpu = summary.tokens_per_s / job.gpus;
    const double full = 3.0 * forward_flops_per_sequence(job.model, job.seq_length, false) * batch / job.gpus;
    const bool causal = job.model.mask == AttentionMask::causal;
    const double half = 3.0 * forward_flops_per_sequence(job.model, job.seq_length, causal) * batch / job.gpus;
    summary.model_tflops_per_gpu = per_second(full, step) / 1e12;
    summary.model_tflops_per_gpu_causal = per_second(half, step) / 1e12;
    const auto& peak = job.cluster.device.peak[static_cast<std::size_t>(job.plan.precision)];
    if (!peak) return;
    summary.mfu_ratio = summary.model_tflops_per_gpu * 1e12 / peak->value;
    // A pipeline rank recomputes its own stages only, so the mean over ranks is the sum over stages / pp.
    const double extra = recompute_flops(graph) * graph.microbatches / graph.pipeline_ranks;
    summary.hfu_ratio = summary.mfu_ratio + per_second(extra, step) / peak->value;
}

double mean_ms(const std::vector<RankReport>& ranks, Account kind) {
    Picoseconds total = 0;
    for (const RankReport& rank : ranks) total += rank.account[static_cast<std::size_t>(kind)];
    return to_milliseconds(total) / static_cast<double>(ranks.size());
}

double hidden_dp_ms(const TaskGraph& graph, const Timeline& timeline, const std::vector<RankReport>& ranks) {
    const std::vector<Picoseconds> moving = data_parallel_times(graph, timeline);
    Picoseconds hidden = 0;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        const Picoseconds exposed = ranks[r].account[static_cast<std::size_t>(Account::exposed_dp)];
        hidden += std::max(moving[r] - exposed, Picoseconds{0});
    }
    return to_milliseconds(hidden) / static_cast<double>(ranks.size());
}

void add_idle(const TaskGraph& graph, const Timeline& timeline, const std::vector<RankReport>& ranks,
              Summary& summary) {
    const BubbleFigures bubble = bubble_figures(graph, timeline);
    summary.bubble_ratio = bubble.bubble_ratio;
    summary.bubble_over_ideal_ratio = bubble.bubble_over_ideal_ratio;
    summary.bubble_span_ratio = bubble.bubble_span_ratio;
    summary.exposed_tp_ms = mean_ms(ranks, Account::exposed_tp);
    summary.exposed_cp_ms = mean_ms(ranks, Account::exposed_cp);
    summary.exposed_ep_ms = mean_ms(ranks, Account::exposed_ep);
    summary.exposed_pp_ms = mean_ms(ranks, Account::exposed_pp);
    summary.exposed_dp_ms = mean_ms(ranks, Account::exposed_dp);
    summary.exposed_offload_ms = mean_ms(ranks, Account::exposed_offload);
    summary.hidden_dp_ms = hidden_dp_ms(graph, timeline, ranks);
    double busy = 0.0;
    for (const RankReport& rank : ranks) busy += to_milliseconds(busy_time(rank.account));
    const double available = to_milliseconds(timeline.step_time()) * static_cast<double>(ranks.size());
    summary.gpu_busy_ratio = available > 0.0 ? busy / available : 0.0;
}

void add_memory(const Job& job, const std::vector<RankReport>& ranks, Summary& summary) {
    summary.memory_capacity = job.cluster.device.usable_memory;
    for (const RankReport& rank : ranks) {
        const RankMemory& memory = rank.memory;
        if (memory.peak > summary.peak_memory) {
            summary.peak_memory = memory.peak;
            summary.peak_memory_rank = rank.pp_rank;
        }
        summary.peak_reserved = std::max(summary.peak_reserved, memory.reserved);
        summary.peak_device = std::max(summary.peak_device, memory.device);
        summary.verdict = std::max(summary.verdict, memory_verdict(memory, summary.memory_capacity));
    }
    summary.fits = summary.verdict != MemoryVerdict::does_not_fit;
}

std::vector<RankReport> rank_reports(const Job& job, const TaskGraph& graph, const BufferPlan& buffers,
                                     const Timeline& timeline) {
    const std::vector<RankAccount> times = accounts(graph, timeline);
    std::vector<RankMemory> memories = memory_profiles(graph, buffers, timeline, job.cluster.device.usable_memory);
    std::vector<RankReport> ranks(times.size());
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        ranks[r].rank = static_cast<int>(r);
        ranks[r].pp_rank = graph.places[r].pp;
        ranks[r].replica = graph.places[r].replica;
        ranks[r].ranks_represented = graph.ranks_represented;
        // A share of the vocabulary is no stage.
        for (const int s : graph.rank_stages[r]) {
            if (s < static_cast<int>(graph.layout.size())) ranks[r].stages.push_back(s);
        }
        for (const int s : ranks[r].stages) ranks[r].layers += graph.layout[static_cast<std::size_t>(s)].layers;
        ranks[r].account = times[r];
        ranks[r].memory = std::move(memories[r]);
    }
    return ranks;
}

void add_band(const Job& job, Summary& summary) {
    if (job.stage_times) return;
    const double width = job.software.uncertainty_p90_pct / 100.0;
    summary.step_time_low_ms = summary.step_time_ms * (1.0 - width);
    summary.step_time_high_ms = summary.step_time_ms * (1.0 + width);
}

void add_warnings(const Summary& summary, Report& report) {
    if (summary.verdict != MemoryVerdict::tight) return;
    report.warnings.push_back(
        fmt::format("memory is tight: with fragmentation rank {} may need more than the {:.1f} GiB of the device",
                    summary.peak_memory_rank, static_cast<double>(summary.memory_capacity) / gibi));
}

}  // namespace

Report make_report(const Job& job, const TaskGraph& graph, const BufferPlan& buffers, const Timeline& timeline) {
    Report report;
    report.ranks = rank_reports(job, graph, buffers, timeline);
    report.critical_path = path_segments(graph, timeline, critical_path(graph, timeline));
    report.workspaces = buffers.workspaces;
    report.runtime = buffers.runtime;
    report.assumptions = job.assumptions;
    report.warnings = job.warnings;
    Summary& summary = report.summary;
    summary.step_time_ms = to_milliseconds(timeline.step_time());
    add_band(job, summary);
    add_throughput(job, graph, timeline.step_time(), summary);
    add_idle(graph, timeline, report.ranks, summary);
    add_memory(job, report.ranks, summary);
    add_warnings(summary, report);
    return report;
}

std::map<std::string, double> summary_figures(const Report& report) {
    const Summary& s = report.summary;
    std::map<std::string, double> figures = {
        {"step_time_ms", s.step_time_ms},
        {"samples_per_s", s.samples_per_s},
        {"tokens_per_s", s.tokens_per_s},
        {"tokens_per_s_per_gpu", s.tokens_per_s_per_gpu},
        {"model_tflops_per_gpu", s.model_tflops_per_gpu},
        {"model_tflops_per_gpu_causal", s.model_tflops_per_gpu_causal},
        {"mfu_ratio", s.mfu_ratio},
        {"hfu_ratio", s.hfu_ratio},
        {"gpu_busy_ratio", s.gpu_busy_ratio},
        {"bubble_ratio", s.bubble_ratio},
        {"bubble_over_ideal_ratio", s.bubble_over_ideal_ratio},
        {"bubble_span_ratio", s.bubble_span_ratio},
        {"exposed_comm_ms.tp", s.exposed_tp_ms},
        {"exposed_comm_ms.cp", s.exposed_cp_ms},
        {"exposed_comm_ms.ep", s.exposed_ep_ms},
        {"exposed_comm_ms.pp", s.exposed_pp_ms},
        {"exposed_comm_ms.dp", s.exposed_dp_ms},
        {"hidden_comm_ms.dp", s.hidden_dp_ms},
        {"peak_memory_bytes", static_cast<double>(s.peak_memory)},
        {"peak_reserved_bytes", static_cast<double>(s.peak_reserved)},
        {"peak_device_bytes", static_cast<double>(s.peak_device)},
        {"peak_memory_rank", s.peak_memory_rank},
        {"memory_capacity_bytes", static_cast<double>(s.memory_capacity)},
        {"fits", s.fits ? 1.0 : 0.0},
    };
    if (s.staleness) {
        figures["staleness.mean"] = s.staleness->mean;
        figures["learning_rate_scale"] = s.staleness->learning_rate_scale;
        figures["updates_per_s"] = s.staleness->updates_per_s;
    }
    if (s.exposed_offload_ms > 0.0) figures["exposed_comm_ms.offload"] = s.exposed_offload_ms;
    if (s.step_time_low_ms) figures["step_time_low_ms"] = *s.step_time_low_ms;
    if (s.step_time_high_ms) figures["step_time_high_ms"] = *s.step_time_high_ms;
    if (s.runs) figures["runs"] = *s.runs;
    if (s.step_time_mean_ms) figures["step_time_mean_ms"] = *s.step_time_mean_ms;
    if (s.step_time_p90_ms) figures["step_time_p90_ms"] = *s.step_time_p90_ms;
    return figures;
}

}  // namespace foreshard
