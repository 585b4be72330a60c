#pragma once

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

/// Devices for ranks of this process, which share a GPU; each with an arena of the plan's size.
/// @throws InputError naming what is missing: a build with CUDA, a driver, a GPU
DeviceMaker gpu_devices(const GpuRequest& request);

}  // namespace foreshard::runtime
