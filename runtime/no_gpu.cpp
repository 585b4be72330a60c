#include "runtime/gpu.hpp"
#include "sim/error.hpp"

/// Stands in for cuda/gpu.cpp where CUDA was not found.
namespace foreshard::runtime {

DeviceMaker gpu_devices(const GpuRequest& /*request*/) {
    throw InputError("--backend", "",
                     "cuda: this program was built without CUDA; use --backend cpu, or build with a CUDA toolkit of "
                     "version 13 (cmake -DFORESHARD_BUILD_CUDA=ON says what it does not find)");
}

}  // namespace foreshard::runtime
