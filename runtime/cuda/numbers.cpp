#include "runtime/cuda/numbers.hpp"

#include <algorithm>

#include "runtime/bf16.hpp"

namespace foreshard::runtime::cuda {

namespace {

template <class Number>
std::vector<std::byte> encode_as(std::span<const double> values) {
    std::vector<std::byte> bytes(values.size() * sizeof(Number));
    auto* to = reinterpret_cast<Number*>(bytes.data());
    std::transform(values.begin(), values.end(), to, [](double value) { return static_cast<Number>(value); });
    return bytes;
}

template <class Number>
std::vector<double> decode_as(std::span<const std::byte> bytes) {
    const auto* from = reinterpret_cast<const Number*>(bytes.data());
    std::vector<double> values(bytes.size() / sizeof(Number));
    std::transform(from, from + values.size(), values.begin(), [](Number value) { return static_cast<double>(value); });
    return values;
}

}  // namespace

std::vector<std::byte> encode(std::span<const double> values, ElementType type) {
    switch (type) {
        case ElementType::fp32:
            return encode_as<float>(values);
        case ElementType::fp64:
            return encode_as<double>(values);
        case ElementType::bf16:
            return encode_as<Bf16>(values);
    }
    return {};
}

std::vector<double> decode(std::span<const std::byte> bytes, ElementType type) {
    switch (type) {
        case ElementType::fp32:
            return decode_as<float>(bytes);
        case ElementType::fp64:
            return decode_as<double>(bytes);
        case ElementType::bf16:
            return decode_as<Bf16>(bytes);
    }
    return {};
}

}  // namespace foreshard::runtime::cuda
