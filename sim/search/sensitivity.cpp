#include "sim/search/sensitivity.hpp"

#include <cmath>

#include "sim/engine/stoppable.hpp"
#include "sim/prefixes.hpp"
#include "sim/search/relax.hpp"
#include "sim/search/search.hpp"
#include "sim/search/space.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard {

namespace {

struct FigureNames {
    std::string_view key;
    std::string_view text;
};

/// Like HardwareFigure.
constexpr std::array<FigureNames, hardware_figure_count> figure_names = {{
    {"peak_flops", "peak FLOP/s"},
    {"memory_bandwidth", "memory bandwidth"},
    {"memory_size", "memory size"},
    {"intra_node_link", "link in a node"},
    {"inter_node_link", "link between nodes"},
    {"latency", "link latency"},
}};

void scale_peak(DeviceSpec& device, double scale) {
    for (std::optional<FlopsPerSecond>& peak : device.peak) {
        if (peak) peak = *peak * scale;
    }
    if (device.kernels) device.kernels = scaled_to_peak(*device.kernels, device.kernels->peak_tflops * scale);
}

/// t(S) = base + c sqrt(S) + f S / B: what grows with S takes as long as for a message of S / scale.
void scale_inner_link(ClusterSpec& cluster, double scale) {
    cluster.intra_node.bandwidth = cluster.intra_node.bandwidth * scale;
    for (CollectiveFit& fit : cluster.fits) {
        fit.sqrt_term /= std::sqrt(scale);
        fit.bandwidth = fit.bandwidth * scale;
    }
}

void scale_latency(ClusterSpec& cluster, SoftwareProfile& software, double scale) {
    cluster.intra_node.latency = cluster.intra_node.latency * scale;
    if (cluster.inter_node) cluster.inter_node->latency = cluster.inter_node->latency * scale;
    for (CollectiveFit& fit : cluster.fits) fit.base = fit.base * scale;
    software.numbers.p2p_latency = software.numbers.p2p_latency * scale;
    software.numbers.broadcast_latency = software.numbers.broadcast_latency * scale;
}

}  // namespace

std::string_view key_of(HardwareFigure figure) {
    return figure_names[static_cast<std::size_t>(figure)].key;
}

std::string_view to_string(HardwareFigure figure) {
    return figure_names[static_cast<std::size_t>(figure)].text;
}

std::optional<SearchRequest> scaled_request(const SearchRequest& request, HardwareFigure figure, double scale) {
    SearchRequest scaled = request;
    auto& cluster = std::get<ClusterSpec>(*scaled.base.cluster);
    switch (figure) {
        case HardwareFigure::peak_flops:
            scale_peak(cluster.device, scale);
            break;
        case HardwareFigure::memory_bandwidth:
            cluster.device.memory_bandwidth = cluster.device.memory_bandwidth * scale;
            break;
        case HardwareFigure::memory_size:
            cluster.device.usable_memory = std::llround(static_cast<double>(cluster.device.usable_memory) * scale);
            if (scaled.max_memory_gib) *scaled.max_memory_gib *= scale;
            break;
        case HardwareFigure::intra_node_link:
            if (cluster.gpus_per_nvlink_domain <= 1 && cluster.gpus_per_node <= 1) return std::nullopt;
            scale_inner_link(cluster, scale);
            break;
        case HardwareFigure::inter_node_link:
            if (!cluster.inter_node) return std::nullopt;
            cluster.inter_node->bandwidth = cluster.inter_node->bandwidth * scale;
            break;
        case HardwareFigure::latency:
            scale_latency(cluster, std::get<SoftwareProfile>(*scaled.base.software), scale);
            break;
    }
    return scaled;
}

namespace {

/// The step of a plan, where it fits.
std::optional<double> step_of(const SearchRequest& request, const JobRequest& plan, ByteCount limit,
                              const std::stop_token& stop) {
    const Evaluation e = evaluate(resolve(merge(request.base, plan)), stop);
    if (e.report.summary.peak_memory + e.buffers.runtime_bytes() > limit) return std::nullopt;
    return e.report.summary.step_time_ms;
}

/// The best plan on changed hardware, beside the one that is best on the unchanged.
Sensitivity searched_again(const SearchRequest& scaled, const JobRequest& best, const std::stop_token& stop) {
    Sensitivity result;
    const SearchOutcome again = search_once(scaled, {}, stop);
    if (again.stopped) throw Stopped();
    const auto limit = static_cast<ByteCount>(std::llround(again.memory_limit_gib * gibi));
    result.kept_step_time_ms = step_of(scaled, best, limit, stop);
    if (again.plans.empty()) return result;
    result.plan = again.plans.front().plan;
    result.step_time_ms = again.plans.front().summary.step_time_ms;
    // Of plans that are equally fast the one that is there already wins.
    if (result.kept_step_time_ms && *result.kept_step_time_ms == result.step_time_ms) result.plan = best;
    result.other_plan = request_flags(*result.plan) != request_flags(best);
    return result;
}

}  // namespace

std::vector<Sensitivity> sensitivity_of(const SearchRequest& request, const SearchOutcome& outcome,
                                        const std::stop_token& stop) {
    std::vector<Sensitivity> all;
    if (outcome.plans.empty()) return all;
    SearchRequest unchanged = request;
    unchanged.base = outcome.loaded;
    unchanged.top = 1;
    unchanged.exhaustive = false;
    for (int i = 0; i < hardware_figure_count; ++i) {
        const auto figure = static_cast<HardwareFigure>(i);
        for (const double scale : sensitivity_scales) {
            const std::optional<SearchRequest> scaled = scaled_request(unchanged, figure, scale);
            if (!scaled) continue;
            all.push_back(searched_again(*scaled, outcome.plans.front().plan, stop));
            all.back().figure = figure;
            all.back().scale = scale;
        }
    }
    return all;
}

}  // namespace foreshard
