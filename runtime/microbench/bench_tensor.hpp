#pragma once

#include <span>

#include "runtime/device.hpp"

namespace foreshard::runtime {

/// A tensor of random numbers between -1 and 1 for benchmarks: kernels on zeros draw less power, and run faster.
class BenchTensor {
public:
    BenchTensor(Device& device, std::int64_t rows, std::int64_t columns, ElementType type);
    BenchTensor(const BenchTensor&) = delete;
    BenchTensor& operator=(const BenchTensor&) = delete;
    ~BenchTensor() { device_.release(tensor_.data, static_cast<std::size_t>(tensor_.bytes())); }

    Tensor tensor() const { return tensor_; }
    std::span<std::byte> span() const { return {tensor_.data, static_cast<std::size_t>(tensor_.bytes())}; }

private:
    Device& device_;
    Tensor tensor_;
};

}  // namespace foreshard::runtime
