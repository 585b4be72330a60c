#pragma once

#include <memory>
#include <stdexcept>

#include "runtime/device.hpp"

/// The processor as a device: Eigen, one thread per caller.
namespace foreshard::runtime {

std::unique_ptr<Device> make_cpu_device(ElementType type);

}  // namespace foreshard::runtime
