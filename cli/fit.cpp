#include "cli/fit.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "cli/output.hpp"
#include "sim/spec/catalogue.hpp"

namespace foreshard::cli {

namespace {

std::string residual_text(const char* kernel, const RateTable& table, const FitResidual& residual) {
    return fmt::format("{:<10} {:>6} points -> {:>4} nodes   error: median {:.2f} %, P90 {:.2f} %, bias {:+.2f} %\n",
                       kernel, residual.points, table.nodes(), residual.median_abs_pct, residual.p90_abs_pct,
                       residual.bias_pct);
}

/// An id of the catalogue must be its file's name; standard output has none.
std::string id_of(const FitOptions& options) {
    if (options.output_file == "-") return "kernels-" + options.device;
    return std::filesystem::path(options.output_file).stem().string();
}

}  // namespace

ExitCode run_fit(const FitOptions& options) {
    KernelFitRequest request = options.kernels;
    request.id = id_of(options);
    const KernelTable table = fit_kernels(request, load_device(options.device));
    write_output(options.output_file, kernels_text(table));
    if (options.output_file == "-") return ok;
    std::string text = residual_text("gemm", table.gemm, table.gemm_residual);
    if (request.attention_file) text += residual_text("attention", table.attention, table.attention_residual);
    write_output("-", text);
    return ok;
}

}  // namespace foreshard::cli
