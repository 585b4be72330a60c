#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/element.hpp"

/// Views of a device's memory.
namespace foreshard::runtime {

/// A row-major matrix in a device's memory; does not own it. Without data it stands for "none".
struct Tensor {
    std::byte* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    ElementType type = ElementType::fp32;

    explicit operator bool() const { return data != nullptr; }
    std::int64_t size() const { return rows * columns; }
    std::int64_t bytes() const { return size() * static_cast<std::int64_t>(element_bytes(type)); }
    /// `count` elements from the first-th on, as a row.
    Tensor stretch(std::int64_t first, std::int64_t count) const {
        return {data + first * static_cast<std::int64_t>(element_bytes(type)), 1, count, type};
    }
};

}  // namespace foreshard::runtime
