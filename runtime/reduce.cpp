#include "runtime/reduce.hpp"

#include <algorithm>
#include <cassert>

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

}  // namespace

void reduce_into(Elements target, std::span<const std::byte> source, Reduction reduction) {
    assert(target.bytes.size() == source.size());
    if (target.type == ElementType::fp32) {
        reduce_numbers<float>(target.bytes, source, reduction);
    } else {
        reduce_numbers<double>(target.bytes, source, reduction);
    }
}

}  // namespace foreshard::runtime
