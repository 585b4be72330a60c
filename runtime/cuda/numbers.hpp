#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/element.hpp"

namespace foreshard::runtime::cuda {

/// Numbers as a tensor of this type holds them, and back.
std::vector<std::byte> encode(std::span<const double> values, ElementType type);
std::vector<double> decode(std::span<const std::byte> bytes, ElementType type);

}  // namespace foreshard::runtime::cuda
