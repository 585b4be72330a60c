#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/spec/cluster_spec.hpp"

/// The machine that a run is made on.
namespace foreshard::runtime {

/// The GPU of this process.
struct GpuInfo {
    std::string name;
    std::string driver;      ///< version of the kernel module
    std::string cuda;        ///< newest that the driver serves
    double clock_ghz = 0.0;  ///< highest
    double memory_clock_ghz = 0.0;
    ByteCount memory = 0;
};

struct Environment {
    std::string host;
    std::string processor;
    int cores = 0;
    double clock_ghz = 0.0;  ///< as the system tells it; 0: unknown
    ByteCount memory = 0;
    std::string compiler;
    std::string mpi;   ///< empty: not used
    std::string nccl;  ///< the same
    std::optional<GpuInfo> gpu;
    std::string launcher;  ///< who told this process its rank; empty: nobody
    /// Of the process's environment what changes how it runs: names and values, by name.
    std::vector<std::pair<std::string, std::string>> variables;
};
Environment this_environment();

/// NCCL_*, CUDA_*, CUBLAS_*, OMP_* and what launchers set, of entries "NAME=value". @param entries ends with nullptr
std::vector<std::pair<std::string, std::string>> recorded_variables(const char* const* entries);

/// "580.65.06" of the first line of /proc/driver/nvidia/version; empty when it is not there.
std::string driver_in(const std::string& line);
std::string driver_version();

/// The machine as a cluster of one node with a place for every rank, so that a plan for it resolves. Its peaks are
/// nominal: cores x clock x 32 FLOPs (two 256-bit fused multiply-adds in fp32).
ClusterSpec this_machine(const Environment& environment, int ranks);

}  // namespace foreshard::runtime
