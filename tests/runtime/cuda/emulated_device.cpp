#include "tests/runtime/cuda/emulated_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/bf16.hpp"
#include "runtime/cuda/emulate.hpp"
#include "runtime/cuda/numbers.hpp"

namespace foreshard::runtime::test {

namespace {

template <class A, class C, class Out>
void multiply_one(const cuda::Gemm& gemm, const A* a, const A* b, Out* c) {
    const auto* bias = reinterpret_cast<const A*>(gemm.bias);
    const auto at = [](const cuda::GemmOperand& operand, std::int64_t row, std::int64_t column) {
        return operand.transposed ? column * operand.leading + row : row * operand.leading + column;
    };
    for (std::int64_t i = 0; i < gemm.rows; ++i) {
        for (std::int64_t j = 0; j < gemm.columns; ++j) {
            C sum = 0;
            for (std::int64_t k = 0; k < gemm.inner; ++k) {
                sum += static_cast<C>(a[at(gemm.a, i, k)]) * static_cast<C>(b[at(gemm.b, k, j)]);
            }
            Out& target = c[i * gemm.c.leading + j];
            C value = static_cast<C>(gemm.alpha) * sum;
            if (gemm.beta != 0.0) value += static_cast<C>(gemm.beta) * static_cast<C>(target);
            if (bias != nullptr) value += static_cast<C>(bias[j]);
            target = static_cast<Out>(value);
        }
    }
}

template <class A, class C, class Out>
void multiply_all(const cuda::Gemm& gemm) {
    for (std::int64_t n = 0; n < gemm.batch; ++n) {
        multiply_one<A, C, Out>(gemm, reinterpret_cast<const A*>(gemm.a.data) + n * gemm.a.step,
                                reinterpret_cast<const A*>(gemm.b.data) + n * gemm.b.step,
                                reinterpret_cast<Out*>(gemm.c.data) + n * gemm.c.step);
    }
}

}  // namespace

EmulatedDevice::EmulatedDevice(ElementType type, int threads) : KernelDevice(type) {
    cuda::emulated_threads = threads;
}

void EmulatedDevice::stamp(int index) {
    stamps_.resize(std::max(stamps_.size(), static_cast<std::size_t>(index) + 1));
    stamps_[static_cast<std::size_t>(index)] = std::chrono::steady_clock::now();
}

std::vector<std::chrono::steady_clock::time_point> EmulatedDevice::stamps(int count) {
    return {stamps_.begin(), stamps_.begin() + count};
}

std::byte* EmulatedDevice::allocate(std::size_t bytes) {
    return static_cast<std::byte*>(std::aligned_alloc(256, (bytes + 256) / 256 * 256));
}

void EmulatedDevice::release(std::byte* data, std::size_t /*bytes*/) {
    std::free(data);
}

void EmulatedDevice::store(Tensor to, std::span<const double> values) {
    const std::vector<std::byte> bytes = cuda::encode(values, to.type);
    copy_bytes(bytes.data(), to.data, bytes.size());
}

std::vector<double> EmulatedDevice::load(Tensor from) const {
    return cuda::decode({from.data, static_cast<std::size_t>(from.bytes())}, from.type);
}

void EmulatedDevice::multiply(const cuda::Gemm& gemm) {
    if (gemm.type == ElementType::fp64) return multiply_all<double, double, double>(gemm);
    if (gemm.type == ElementType::fp32) return multiply_all<float, float, float>(gemm);
    if (gemm.out == ElementType::fp32) return multiply_all<Bf16, float, float>(gemm);
    multiply_all<Bf16, float, Bf16>(gemm);
}

const std::int32_t* EmulatedDevice::upload(std::span<const std::int32_t> ids) {
    return uploads_.emplace_back(ids.begin(), ids.end()).data();
}

void EmulatedDevice::copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) {
    if (bytes > 0) std::memmove(to, from, bytes);
}

}  // namespace foreshard::runtime::test
