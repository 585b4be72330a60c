#pragma once

#include "runtime/carrier.hpp"
#include "runtime/environment.hpp"
#include "runtime/trainer.hpp"

/// GPUs as devices of ranks, where the program has them.
namespace foreshard::runtime {

enum class GraphCapture : std::uint8_t { off, on };

struct GpuRequest {
    ElementType type = ElementType::fp32;
    MathMode math = MathMode::exact;
    GraphCapture capture = GraphCapture::off;
    int ordinal = 0;  ///< of the GPU that the ranks of this process are on
};

/// Devices for ranks of this process, which share a GPU.
/// @throws InputError naming what is missing: a build with CUDA, a driver, a GPU
DeviceMaker gpu_devices(const GpuRequest& request);

/// One without a plan. @throws InputError as above
std::unique_ptr<Device> bench_gpu(const GpuRequest& request);

/// Moves data between ranks that share a GPU (cuda/virtual_carrier.hpp). @throws InputError in a build without CUDA
Carrier gpu_carrier();

/// Precondition: there is such a GPU.
GpuInfo gpu_info(int ordinal);

}  // namespace foreshard::runtime
