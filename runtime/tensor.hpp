#pragma once

#include <cstddef>
#include <cstdint>

/// Views of a device's memory.
namespace foreshard::runtime {

/// A row-major matrix of the device's elements; does not own them. Without data it stands for "none".
struct Tensor {
    std::byte* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;

    explicit operator bool() const { return data != nullptr; }
    std::int64_t size() const { return rows * columns; }
};

}  // namespace foreshard::runtime
