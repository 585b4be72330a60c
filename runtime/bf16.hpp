#pragma once

#include <bit>
#include <cstdint>

namespace foreshard::runtime {

/// bfloat16, the upper half of an fp32 number: storage only, arithmetic is done in fp32. The same on host and device.
struct Bf16 {
    std::uint16_t bits;

    Bf16() = default;
    /// Rounds to nearest, ties to even; NaN stays NaN.
    constexpr explicit Bf16(float value) : bits(round(std::bit_cast<std::uint32_t>(value))) {}
    constexpr explicit Bf16(double value) : Bf16(static_cast<float>(value)) {}
    constexpr explicit operator float() const {
        return std::bit_cast<float>(static_cast<std::uint32_t>(static_cast<std::uint32_t>(bits) << 16U));
    }
    constexpr explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }

private:
    static constexpr std::uint16_t round(std::uint32_t value) {
        const bool nan = (value & 0x7FFFFFFFU) > 0x7F800000U;
        if (nan) return static_cast<std::uint16_t>((value >> 16U) | 0x40U);
        return static_cast<std::uint16_t>((value + 0x7FFFU + ((value >> 16U) & 1U)) >> 16U);
    }
};

}  // namespace foreshard::runtime
