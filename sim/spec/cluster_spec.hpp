#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/kernel_table.hpp"
#include "sim/spec/operating_figures.hpp"
#include "sim/units.hpp"

/// Devices, links and what collectives achieve on them.
namespace foreshard {

enum class Precision { fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4 };
inline constexpr int precision_count = 7;
std::string_view to_string(Precision precision);
std::optional<Precision> parse_precision(std::string_view text);

enum class CollectiveKind { all_reduce, all_gather, reduce_scatter, all_to_all, send_recv, broadcast, reduce };
std::string_view to_string(CollectiveKind kind);

/// DeviceSpec::architecture of a rank that is a processor core.
inline constexpr std::string_view processor_architecture = "cpu";

/// One accelerator. Peaks are dense, without sparsity; bandwidth is one figure for reads and writes together.
struct DeviceSpec {
    std::string id;
    std::string name;
    std::string architecture;
    std::array<std::optional<FlopsPerSecond>, precision_count> peak;  ///< indexed by Precision
    BytesPerSecond memory_bandwidth;
    ByteCount usable_memory = 0;  ///< what a process can have
    int sm_count = 0;
    BytesPerSecond host_link;  ///< measured copies to or from pinned memory, one way; 0: not known

    /// First-form constants: achieved share of the peak.
    double gemm_ratio = 0.0;
    double attention_matmul_ratio = 0.0;  ///< batched score/context matmuls of unfused attention
    double flash_forward_ratio = 0.0;
    double memory_ratio = 0.0;
    Seconds kernel_launch;

    /// Speed-up over bf16 of a GEMM of side 8192 (cube root of m n k); absent where no run was fitted.
    std::optional<double> fp8_gemm_speedup;
    std::optional<double> fp4_gemm_speedup;

    std::string kernels_id;              ///< calibration that the device names; empty: none
    std::optional<KernelTable> kernels;  ///< scaled to this device's bf16 peak
};

/// t(S) = base + sqrt_term * sqrt(S) + f S / bandwidth, f = 2(n-1)/n (all-reduce) or (n-1)/n; S in bytes.
/// For all-gather and reduce-scatter S is the full size over all ranks.
struct CollectiveFit {
    CollectiveKind kind = CollectiveKind::all_reduce;
    int ranks = 0;
    Seconds base;
    double sqrt_term = 0.0;  ///< seconds per square root of a byte
    BytesPerSecond bandwidth;
    double mean_abs_error_pct = 0.0;
};

struct LinkSpec {
    std::string kind;
    BytesPerSecond bandwidth;  ///< one way, per GPU
    Seconds latency;
};

/// Switches that the NICs of some neighbouring nodes are plugged into. Traffic between them goes through uplinks.
struct LeafTier {
    int nodes_per_leaf = 1;
    double oversubscription_ratio = 1.0;  ///< bandwidth of a leaf's NICs over that of its uplinks
    bool rail_optimized = false;          ///< NIC i of each of these nodes has a switch of its own, the rail i
};

struct ClusterSpec {
    std::string id;
    std::string name;
    DeviceSpec device;
    int gpus_per_node = 0;
    int gpus_per_nvlink_domain = 0;
    std::optional<int> nodes;  ///< size of the machine where it is known
    LinkSpec intra_node;
    std::optional<LinkSpec> inter_node;
    int nics_per_node = 0;         ///< 0: one a GPU. Together they carry what the GPUs' inter_node bandwidths add up to
    std::optional<LeafTier> leaf;  ///< absent: switches never limit
    std::string fabric_id;         ///< empty: no measured fits
    std::vector<CollectiveFit> fits;
    OperatingFigures operation;
};

}  // namespace foreshard
