#pragma once

#include <cstddef>
#include <span>

#include "runtime/transport.hpp"

namespace foreshard::runtime {

/// target = target (+ or max) source, element by element. Precondition: equal sizes.
void reduce_into(Elements target, std::span<const std::byte> source, Reduction reduction);

}  // namespace foreshard::runtime
