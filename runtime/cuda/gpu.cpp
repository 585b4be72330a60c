#include "runtime/gpu.hpp"

#include <fmt/format.h>

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/virtual_carrier.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {

namespace {

void refuse_missing(const GpuRequest& request) {
    if (const std::string missing = cuda::missing_gpu(); !missing.empty()) {
        throw InputError("--backend", "", fmt::format("cuda: {}; use --backend cpu", missing));
    }
    if (const int count = cuda::gpu_count(); request.ordinal >= count) {
        throw InputError("--backend", "",
                         fmt::format("cuda: GPU {} was asked for, but {} are visible", request.ordinal, count));
    }
}

std::unique_ptr<Device> make_gpu(const GpuRequest& request) {
    cuda::CudaOptions options;
    options.ordinal = request.ordinal;
    options.type = request.type;
    options.math = request.math;
    options.capture = request.capture == GraphCapture::on ? cuda::Capture::on : cuda::Capture::off;
    return std::make_unique<cuda::CudaDevice>(options);
}

/// 0 when the driver does not tell.
double clock_ghz(cudaDeviceAttr attribute, int ordinal) {
    int khz = 0;
    if (cudaDeviceGetAttribute(&khz, attribute, ordinal) != cudaSuccess) return 0.0;
    return static_cast<double>(khz) / 1e6;
}

}  // namespace

DeviceMaker gpu_devices(const GpuRequest& request) {
    refuse_missing(request);
    return [request](const Plan& /*plan*/, int /*rank*/) { return make_gpu(request); };
}

std::unique_ptr<Device> bench_gpu(const GpuRequest& request) {
    refuse_missing(request);
    return make_gpu(request);
}

Carrier gpu_carrier() {
    return cuda::virtual_carrier();
}

GpuInfo gpu_info(int ordinal) {
    cudaDeviceProp properties{};
    cuda::check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
    int newest = 0;
    cuda::check(cudaDriverGetVersion(&newest), "cudaDriverGetVersion");
    GpuInfo info;
    info.name = properties.name;
    info.memory = static_cast<ByteCount>(properties.totalGlobalMem);
    info.driver = driver_version();
    info.cuda = fmt::format("{}.{}", newest / 1000, newest % 1000 / 10);
    info.clock_ghz = clock_ghz(cudaDevAttrClockRate, ordinal);
    info.memory_clock_ghz = clock_ghz(cudaDevAttrMemoryClockRate, ordinal);
    return info;
}

}  // namespace foreshard::runtime
