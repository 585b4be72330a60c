#pragma once

#include <string>
#include <vector>

namespace foreshard::runtime {

/// Where a rank computes.
struct GpuPlace {
    std::string host;
    std::string gpu;  ///< UUID
};

enum class GpuSharing {
    none,
    shared,  ///< some ranks have a GPU together: NCCL must be told (NCCL_MULTI_RANK_GPU_ENABLE)
};

/// Whether ranks share GPUs. @param nccl_version as ncclGetVersion tells it, 22809 for 2.28.9
/// @throws InputError naming two ranks and their GPU when they do and this NCCL refuses it (before 2.30.3)
GpuSharing gpu_sharing(const std::vector<GpuPlace>& ranks, int nccl_version);

std::string nccl_version_text(int nccl_version);

/// The GPU of a process. @throws InputError naming the local rank and the number of GPUs when there is none for it
/// @param shared ranks may share GPUs: local ranks go round
int gpu_of_local_rank(int local_rank, int gpus, bool shared, const std::string& visible_devices);

}  // namespace foreshard::runtime
