#include "runtime/comm/gpu_sharing.hpp"

#include <map>

#include <fmt/format.h>

#include "sim/error.hpp"

namespace foreshard::runtime {

namespace {

constexpr int first_sharing_version = 23003;

}  // namespace

std::string nccl_version_text(int nccl_version) {
    return fmt::format("{}.{}.{}", nccl_version / 10000, nccl_version / 100 % 100, nccl_version % 100);
}

GpuSharing gpu_sharing(const std::vector<GpuPlace>& ranks, int nccl_version) {
    std::map<std::pair<std::string, std::string>, std::size_t> owners;
    GpuSharing sharing = GpuSharing::none;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const auto [owner, fresh] = owners.try_emplace({ranks[rank].host, ranks[rank].gpu}, rank);
        if (fresh) continue;
        if (nccl_version < first_sharing_version) {
            throw InputError(
                "--comm", "",
                fmt::format("nccl: ranks {} and {} both have GPU {} of host {}, which NCCL {} refuses "
                            "(from 2.30.3 on it does not); start as many processes as there are GPUs, or "
                            "take --comm virtual on one GPU",
                            owner->second, rank, ranks[rank].gpu, ranks[rank].host, nccl_version_text(nccl_version)));
        }
        sharing = GpuSharing::shared;
    }
    return sharing;
}

int gpu_of_local_rank(int local_rank, int gpus, bool shared, const std::string& visible_devices) {
    if (gpus > 0 && (local_rank < gpus || shared)) return local_rank % gpus;
    throw InputError(
        "--local-rank", "",
        fmt::format("{}: this host has {} GPU{}{}; valid is below that", local_rank, gpus, gpus == 1 ? "" : "s",
                    visible_devices.empty() ? "" : " (CUDA_VISIBLE_DEVICES=" + visible_devices + ")"));
}

}  // namespace foreshard::runtime
