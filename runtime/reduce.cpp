#include "runtime/reduce.hpp"

#include <algorithm>
#include <cassert>

#include "runtime/bf16.hpp"

namespace foreshard::runtime {

namespace {

template <typename Number>
void reduce_numbers(std::span<std::byte> target, std::span<const std::byte> source, Reduction reduction) {
    auto* to = reinterpret_cast<Number*>(target.data());
    const auto* from = reinterpret_cast<const Number*>(source.data());
    const std::size_t count = target.size() / sizeof(Number);
    if (reduction == Reduction::sum) {
        for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
    } else {
        for (std::size_t i = 0; i < count; ++i) to[i] = std::max(to[i], from[i]);
    }
}

/// Sums of two 16-bit numbers are rounded to nearest, ties to even.
void reduce_bf16(std::span<std::byte> target, std::span<const std::byte> source, Reduction reduction) {
    auto* to = reinterpret_cast<Bf16*>(target.data());
    const auto* from = reinterpret_cast<const Bf16*>(source.data());
    const std::size_t count = target.size() / sizeof(Bf16);
    for (std::size_t i = 0; i < count; ++i) {
        const auto a = static_cast<float>(to[i]);
        const auto b = static_cast<float>(from[i]);
        to[i] = Bf16(reduction == Reduction::sum ? a + b : std::max(a, b));
    }
}

}  // namespace

void reduce_into(Elements target, std::span<const std::byte> source, Reduction reduction) {
    assert(target.bytes.size() == source.size());
    switch (target.type) {
        case ElementType::fp32:
            return reduce_numbers<float>(target.bytes, source, reduction);
        case ElementType::fp64:
            return reduce_numbers<double>(target.bytes, source, reduction);
        case ElementType::bf16:
            return reduce_bf16(target.bytes, source, reduction);
    }
}

}  // namespace foreshard::runtime
