#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/blas.hpp"

namespace foreshard::runtime::cuda {

/// Copies ids from the host to the device without a wait: through pinned memory, each copy in a place of its own until
/// reset().
class Staging {
public:
    /// The caller's span is free when this returns; the device's copy is there when the stream reaches it.
    const std::int32_t* upload(std::span<const std::int32_t> ids, cudaStream_t stream);
    /// All copies are done.
    void reset();

private:
    struct FreePinned {
        void operator()(void* data) const { cudaFreeHost(data); }
    };
    struct Chunk {
        std::unique_ptr<void, FreePinned> host;
        DeviceBytes device;
        std::size_t size = 0;
        std::size_t used = 0;
    };
    Chunk& chunk_with(std::size_t bytes);

    std::vector<Chunk> chunks_;
    std::size_t current_ = 0;
};

}  // namespace foreshard::runtime::cuda
