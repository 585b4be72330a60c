#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

/// Turns statuses of CUDA libraries into exceptions. Destructors do not check: they have nobody to tell.
namespace foreshard::runtime::cuda {

/// A call failed: "runtime/cuda/stream.cpp:12: cudaStreamCreate failed: cudaErrorMemoryAllocation (out of memory)".
class DeviceError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// @throws DeviceError with the call, and file and line of the caller (builtins: clang-tidy 14 has no source_location)
[[noreturn]] void fail(std::string_view call, std::string_view error, const char* file, int line);

/// check(cudaMalloc(&data, bytes), "cudaMalloc")
inline void check(cudaError_t status, std::string_view call, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
    if (status == cudaSuccess) return;
    fail(call, std::string(cudaGetErrorName(status)) + " (" + cudaGetErrorString(status) + ")", file, line);
}

inline void check(cublasStatus_t status, std::string_view call, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    fail(call, cublasLtGetStatusName(status), file, line);
}

/// Behind a kernel launch: bad configurations are found here, faults inside it at the next synchronisation.
inline void check_launch(std::string_view kernel, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    check(cudaGetLastError(), kernel, file, line);
}

}  // namespace foreshard::runtime::cuda
