#include "runtime/cuda/staging.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/cuda/check.hpp"

namespace foreshard::runtime::cuda {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
constexpr std::size_t alignment = 256;

}  // namespace

Staging::Chunk& Staging::chunk_with(std::size_t bytes) {
    for (; current_ < chunks_.size(); ++current_) {
        if (chunks_[current_].size - chunks_[current_].used >= bytes) return chunks_[current_];
    }
    Chunk chunk;
    chunk.size = std::max(chunk_bytes, bytes);
    void* host = nullptr;
    check(cudaHostAlloc(&host, chunk.size, cudaHostAllocDefault), "cudaHostAlloc");
    chunk.host.reset(host);
    chunk.device = DeviceBytes(chunk.size);
    chunks_.push_back(std::move(chunk));
    return chunks_.back();
}

const std::int32_t* Staging::upload(std::span<const std::int32_t> ids, cudaStream_t stream) {
    const std::size_t room = (ids.size_bytes() + alignment - 1) / alignment * alignment;
    Chunk& chunk = chunk_with(room);
    std::byte* host = static_cast<std::byte*>(chunk.host.get()) + chunk.used;
    std::byte* device = chunk.device.get() + chunk.used;
    chunk.used += room;
    if (ids.empty()) return reinterpret_cast<const std::int32_t*>(device);
    std::memcpy(host, ids.data(), ids.size_bytes());
    check(cudaMemcpyAsync(device, host, ids.size_bytes(), cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    return reinterpret_cast<const std::int32_t*>(device);
}

void Staging::reset() {
    for (Chunk& chunk : chunks_) chunk.used = 0;
    current_ = 0;
}

}  // namespace foreshard::runtime::cuda
