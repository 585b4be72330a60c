#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// Measured kernel rates of one device, thinned to a grid.
namespace foreshard {

/// TFLOP/s on a rectangular grid over three sizes. The last axis varies fastest.
/// Axes are ascending and positive; rates are positive, axes[0].size() * axes[1].size() * axes[2].size() of them.
struct RateTable {
    std::array<std::vector<double>, 3> axes;
    std::vector<double> tflops;

    std::size_t nodes() const { return axes[0].size() * axes[1].size() * axes[2].size(); }
};

/// How well a table gives back the times that it was made from: predicted over measured time, minus one.
struct FitResidual {
    int points = 0;
    double median_abs_pct = 0.0;
    double p90_abs_pct = 0.0;
    double bias_pct = 0.0;  ///< mean
};

/// bf16 kernels. Attention is the causal forward kernel with FLOPs counted for the causal half.
struct KernelTable {
    std::string id;
    std::string name;
    std::string device;         ///< id of the device that was measured
    double peak_tflops = 0.0;   ///< its dense bf16 peak: a device that borrows the table scales by its own
    RateTable gemm;             ///< over m, n, k of y[m, n] = x[m, k] w[n, k]
    FitResidual gemm_residual;  ///< over all measured points that were used
    RateTable attention;        ///< over sequence, batch x heads, head dimension; empty if not measured
    FitResidual attention_residual;
    std::vector<std::pair<std::string, std::string>> sources;  ///< key or path, and where its values come from
};

/// The table of a sibling device: all rates times the ratio of the dense bf16 peaks.
KernelTable scaled_to_peak(KernelTable table, double peak_tflops);

}  // namespace foreshard
