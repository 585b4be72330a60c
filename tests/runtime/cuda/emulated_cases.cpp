#include "tests/runtime/cuda/device_pair.hpp"
#include "tests/runtime/cuda/emulated_device.hpp"

namespace foreshard::runtime::test {

/// With one thread a block, and with several, whose barriers and reductions are then real.
std::vector<DeviceCase> device_cases() {
    std::vector<DeviceCase> cases;
    const auto add = [&](const char* name, ElementType type, int threads, double tolerance) {
        cases.push_back({name, [=] { return std::make_unique<EmulatedDevice>(type, threads); }, tolerance});
    };
    add("fp64", ElementType::fp64, 1, 1e-12);
    add("fp64_with_4_threads", ElementType::fp64, 4, 1e-12);
    add("fp32", ElementType::fp32, 1, 4e-6);
    add("fp32_with_2_threads", ElementType::fp32, 2, 4e-6);
    add("bf16", ElementType::bf16, 4, 1e-2);
    return cases;
}

std::string missing_device() {
    return "";
}

}  // namespace foreshard::runtime::test
