#include "runtime/gpu.hpp"
#include "sim/error.hpp"

/// Stands in for cuda/gpu.cpp where CUDA was not found.
namespace foreshard::runtime {

namespace {

[[noreturn]] void refuse() {
    throw InputError("--backend", "",
                     "cuda: this program was built without CUDA; use --backend cpu, or build with a CUDA toolkit of "
                     "version 13 (cmake -DFORESHARD_BUILD_CUDA=ON says what it does not find)");
}

}  // namespace

DeviceMaker gpu_devices(const GpuRequest& /*request*/) {
    refuse();
}

std::unique_ptr<Device> bench_gpu(const GpuRequest& /*request*/) {
    refuse();
}

Carrier gpu_carrier() {
    refuse();
}

GpuInfo gpu_info(int /*ordinal*/) {
    return {};
}

}  // namespace foreshard::runtime
