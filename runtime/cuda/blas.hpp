#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <type_traits>
#include <vector>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include "runtime/cuda/gemm.hpp"

namespace foreshard::runtime::cuda {

struct FreeDeviceMemory {
    void operator()(void* data) const { cudaFree(data); }
};

/// Device memory of its own, outside any arena.
class DeviceBytes {
public:
    DeviceBytes() = default;
    explicit DeviceBytes(std::size_t bytes);
    std::byte* get() const { return static_cast<std::byte*>(data_.get()); }

private:
    std::unique_ptr<void, FreeDeviceMemory> data_;
};

/// Matrix products by cuBLASLt. The first algorithm of its heuristic is taken, once per shape. Calls of one object go
/// to one stream at a time: they share a workspace.
class Blas {
public:
    explicit Blas(MathMode mode);
    void multiply(const Gemm& gemm, cudaStream_t stream);
    static bool adds_bias(ElementType type) { return type != ElementType::fp64; }

private:
    struct DestroyHandle {
        void operator()(cublasLtHandle_t handle) const { cublasLtDestroy(handle); }
    };
    using Shape = std::vector<std::int64_t>;
    const cublasLtMatmulAlgo_t& algorithm(const Gemm& gemm, cublasLtMatmulDesc_t operation,
                                          const cublasLtMatrixLayout_t layouts[3]);

    MathMode mode_;
    std::unique_ptr<std::remove_pointer_t<cublasLtHandle_t>, DestroyHandle> handle_;
    DeviceBytes workspace_;
    std::map<Shape, cublasLtMatmulAlgo_t> algorithms_;
};

}  // namespace foreshard::runtime::cuda
