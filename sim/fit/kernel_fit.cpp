#include "sim/fit/kernel_fit.hpp"

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/fit/kernel_csv.hpp"

namespace foreshard {

namespace {

/// Attention needs few nodes: its rate is smooth, and varies more with what the table leaves out (KV heads).
constexpr double attention_share = 0.15;
constexpr int least_points = 64;

std::string source_text(const KernelMeasurements& measured, const FitResidual& residual, const RateTable& table) {
    return fmt::format("{}; {} measured points thinned to {} nodes by foreshard fit --kernels", measured.source,
                       residual.points, table.nodes());
}

void fit_attention(const KernelFitRequest& request, std::size_t max_nodes, KernelTable& table) {
    KernelMeasurements measured = read_attention_csv(*request.attention_file);
    for (RatePoint& point : measured.points) point.tflops *= request.attention_scale;
    table.attention = fit_rates(measured.points, choose_lines(measured.points, max_nodes));
    table.attention_residual = residual(table.attention, measured.points);
    std::string source = source_text(measured, table.attention_residual, table.attention);
    if (request.attention_scale != 1.0) {
        source = fmt::format("assumed: {} times the rates of another device: {}", request.attention_scale, source);
    }
    table.sources.emplace_back("attention", source);
}

}  // namespace

KernelTable fit_kernels(const KernelFitRequest& request, const DeviceSpec& device) {
    const auto& peak = device.peak[static_cast<std::size_t>(Precision::bf16)];
    if (!peak) throw InputError("--device", "", fmt::format("{} has no bf16 peak", device.id));
    if (request.max_points < least_points) {
        throw InputError("--max-points", "", fmt::format("{} must be {} or more", request.max_points, least_points));
    }
    KernelTable table;
    table.id = request.id;
    table.name = "bf16 kernels of " + device.name;
    table.device = device.id;
    table.peak_tflops = peak->value / 1e12;
    const auto max_nodes = static_cast<double>(request.max_points);
    const double for_attention = request.attention_file ? attention_share * max_nodes : 0.0;
    const KernelMeasurements gemm = read_gemm_csv(request.gemm_file);
    table.gemm = fit_rates(gemm.points, choose_lines(gemm.points, static_cast<std::size_t>(max_nodes - for_attention)));
    table.gemm_residual = residual(table.gemm, gemm.points);
    table.sources.emplace_back("gemm", source_text(gemm, table.gemm_residual, table.gemm));
    if (request.attention_file) fit_attention(request, static_cast<std::size_t>(for_attention), table);
    return table;
}

}  // namespace foreshard
