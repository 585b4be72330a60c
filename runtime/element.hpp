#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace foreshard::runtime {

/// What tensors are made of.
enum class ElementType : std::uint8_t { fp32, fp64 };

constexpr std::size_t element_bytes(ElementType type) {
    return type == ElementType::fp32 ? 4 : 8;
}
constexpr std::string_view to_string(ElementType type) {
    return type == ElementType::fp32 ? "fp32" : "fp64";
}

}  // namespace foreshard::runtime
