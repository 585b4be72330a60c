#include "runtime/cuda/cuda_device.hpp"
#include "tests/runtime/cuda/device_pair.hpp"

namespace foreshard::runtime::test {

/// fp64 is exact but for the order of sums; fp32 products are added up by cuBLAS in any order; tf32 rounds factors to
/// 10 bits, bf16 rounds results to 8.
std::vector<DeviceCase> device_cases() {
    std::vector<DeviceCase> cases;
    const auto add = [&](const char* name, ElementType type, MathMode math, double tolerance) {
        const auto make = [=] {
            cuda::CudaOptions options;
            options.type = type;
            options.math = math;
            return std::make_unique<cuda::CudaDevice>(options);
        };
        cases.push_back({name, make, tolerance});
    };
    add("fp64", ElementType::fp64, MathMode::exact, 1e-12);
    add("fp32", ElementType::fp32, MathMode::exact, 4e-6);
    add("tf32", ElementType::fp32, MathMode::tf32, 2e-3);
    add("bf16", ElementType::bf16, MathMode::exact, 1e-2);
    return cases;
}

std::string missing_device() {
    return cuda::missing_gpu();
}

}  // namespace foreshard::runtime::test
