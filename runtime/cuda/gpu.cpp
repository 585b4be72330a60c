#include "runtime/gpu.hpp"

#include <fmt/format.h>

#include "runtime/arena_size.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {

DeviceMaker gpu_devices(const GpuRequest& request) {
    if (const std::string missing = cuda::missing_gpu(); !missing.empty()) {
        throw InputError("--backend", "", fmt::format("cuda: {}; use --backend cpu", missing));
    }
    if (const int count = cuda::gpu_count(); request.ordinal >= count) {
        throw InputError("--backend", "",
                         fmt::format("cuda: GPU {} was asked for, but {} are visible", request.ordinal, count));
    }
    return [request](const Plan& plan, int rank) -> std::unique_ptr<Device> {
        cuda::CudaOptions options;
        options.ordinal = request.ordinal;
        options.type = request.type;
        options.math = request.math;
        options.capture = request.capture == GraphCapture::on ? cuda::Capture::on : cuda::Capture::off;
        options.arena_bytes =
            static_cast<std::size_t>(arena_bytes(plan.job, plan.graph, plan.ranks.position(rank).pp, request.type));
        return std::make_unique<cuda::CudaDevice>(options);
    };
}

}  // namespace foreshard::runtime
