#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace foreshard::runtime {

/// What tensors are made of.
enum class ElementType : std::uint8_t { fp32, fp64, bf16 };

constexpr std::size_t element_bytes(ElementType type) {
    switch (type) {
        case ElementType::fp32:
            return 4;
        case ElementType::fp64:
            return 8;
        case ElementType::bf16:
            return 2;
    }
    return 0;
}
constexpr std::string_view to_string(ElementType type) {
    switch (type) {
        case ElementType::fp32:
            return "fp32";
        case ElementType::fp64:
            return "fp64";
        case ElementType::bf16:
            return "bf16";
    }
    return "";
}

/// How fp32 factors of matrix products are multiplied; sums are in fp32 either way.
enum class MathMode : std::uint8_t {
    exact,
    tf32,  ///< factors rounded to 10 bits of mantissa
};

/// Of what is added up over many terms or steps where activations and weights are of `type`: gradients of parameters,
/// master weights and moments, statistics of norms and of the softmax.
constexpr ElementType state_type_of(ElementType type) {
    return type == ElementType::bf16 ? ElementType::fp32 : type;
}

}  // namespace foreshard::runtime
