#pragma once

#include <string>
#include <vector>

#include "sim/fit/rate_fit.hpp"

/// Measured kernel times as CSV: comment lines with '#', a header line that names the columns, numbers.
namespace foreshard {

struct KernelMeasurements {
    std::string source;  ///< the file's comment lines, else its name without folders
    std::vector<RatePoint> points;
};

enum class KernelCsv : unsigned char { none, gemm, attention };

/// What a file holds, by the columns that its first line without '#' names. @throws UnreadableFile
KernelCsv kernel_csv_kind(const std::string& path);

/// Columns m, n, k and time_us or tflops, others are ignored. Rows with m below 16 and rows that probe the step behind
/// a multiple of 16 (m = 129 where 128 was measured too) are left out. @throws UnreadableFile, InputError
KernelMeasurements read_gemm_csv(const std::string& path);

/// Columns batch, seq, heads, head_dim and time_us or tflops_causal of the causal forward kernel, others are ignored:
/// points over sequence, batch x heads and head dimension. Sequences below 64 are left out.
/// @throws UnreadableFile, InputError
KernelMeasurements read_attention_csv(const std::string& path);

}  // namespace foreshard
