#include "runtime/nccl_session.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/comm/gpu_sharing.hpp"
#include "runtime/cuda/check.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/current_queue.hpp"
#include "runtime/exchange.hpp"
#include "runtime/nccl/nccl_call.hpp"
#include "runtime/nccl/nccl_transport.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {

namespace {

std::string text(std::span<const std::byte> bytes) {
    std::string result(bytes.size(), ' ');
    if (!bytes.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
}

int library_version() {
    int version = 0;
    nccl::check(ncclGetVersion(&version), "ncclGetVersion");
    return version;
}

/// Takes the process's GPU.
int take_device(int local_rank, int nccl_version) {
    if (const std::string missing = cuda::missing_gpu(); !missing.empty()) {
        throw InputError("--backend", "", "cuda: " + missing);
    }
    const int gpus = cuda::gpu_count();
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    const bool may_share = nccl_version >= NCCL_VERSION(2, 30, 3);
    const int device = gpu_of_local_rank(local_rank, gpus, may_share, visible == nullptr ? "" : visible);
    cuda::check(cudaSetDevice(device), "cudaSetDevice");
    return device;
}

GpuPlace place_of(int device) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    cudaDeviceProp properties{};
    cuda::check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    std::string uuid;
    for (const char byte : properties.uuid.bytes) uuid += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return {host.data(), uuid};
}

std::vector<GpuPlace> places_of_all(Transport& control, const GpuPlace& mine) {
    const std::string told = mine.host + " " + mine.gpu;
    std::vector<GpuPlace> places;
    for (const std::vector<std::byte>& one : tell_all(control, std::as_bytes(std::span(told)))) {
        const std::string line = text(one);
        const std::size_t space = line.find(' ');
        places.push_back({line.substr(0, space), line.substr(space + 1)});
    }
    return places;
}

ncclUniqueId shared_id(Transport& control) {
    ncclUniqueId id{};
    if (control.rank() == 0) nccl::check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    const auto told = tell_all(control, std::as_bytes(std::span(&id, 1)));
    std::memcpy(&id, told.front().data(), sizeof id);
    return id;
}

}  // namespace

class NcclSession::Impl {
public:
    Impl(const NcclGround& told, const std::vector<Communicator>& list)
        : ground(told), version(library_version()), device(take_device(told.local_rank, version)) {
        const GpuSharing sharing = gpu_sharing(places_of_all(ground.control, place_of(device)), version);
        // Kernels of all communicators start in the order of issue, which all ranks share.
        setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
        if (sharing == GpuSharing::shared) setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);
        const ncclUniqueId id = shared_id(ground.control);
        communicators.emplace(id, ground.control.rank(), ground.control.size(), list, ground.timeout,
                              ground.job_failed);
        watchdog.emplace(device, ground.control.rank(), *communicators, ground.timeout, ground.job_failed,
                         [this](const Failure& failure) { ground.control.abort(failure.reason); });
        transport.emplace(ground.control, *communicators, *watchdog, ground.timeout,
                          [] { return cuda::current_queue(); });
        transport->warm_up();
    }

    NcclGround ground;
    int version;
    int device;
    std::optional<nccl::CommunicatorSet> communicators;
    std::optional<nccl::Watchdog> watchdog;
    std::optional<nccl::NcclTransport> transport;
};

bool has_nccl() {
    return true;
}

NcclSession::NcclSession(const NcclGround& ground, const std::vector<Communicator>& communicators)
    : impl_(std::make_unique<Impl>(ground, communicators)) {}

NcclSession::~NcclSession() = default;

Transport& NcclSession::transport() {
    return *impl_->transport;
}

std::string NcclSession::library() const {
    return "NCCL " + nccl_version_text(impl_->version);
}

int NcclSession::device() const {
    return impl_->device;
}

}  // namespace foreshard::runtime
