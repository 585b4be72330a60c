#pragma once

#include <memory>
#include <stdexcept>

#include "runtime/device.hpp"

/// The processor as a device: Eigen, one thread per caller.
namespace foreshard::runtime {

/// @throws std::invalid_argument for 16-bit types
std::unique_ptr<Device> make_cpu_device(ElementType type);

}  // namespace foreshard::runtime
