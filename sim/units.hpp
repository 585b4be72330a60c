#pragma once

#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>

/// Physical quantities with their dimension in the type, SI units only. Indices and counts stay plain integers.
namespace foreshard {

/// A double with the dimension time^T * byte^B * flop^F.
template <int T, int B, int F>
struct Quantity {
    double value = 0.0;

    constexpr Quantity() = default;
    explicit constexpr Quantity(double v) : value(v) {}

    constexpr Quantity& operator+=(Quantity other) {
        value += other.value;
        return *this;
    }
    constexpr Quantity& operator-=(Quantity other) {
        value -= other.value;
        return *this;
    }
    friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
    friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
    friend constexpr Quantity operator*(Quantity a, double s) { return Quantity(a.value * s); }
    friend constexpr Quantity operator*(double s, Quantity a) { return Quantity(a.value * s); }
    friend constexpr Quantity operator/(Quantity a, double s) { return Quantity(a.value / s); }
    friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
    friend constexpr bool operator==(Quantity a, Quantity b) = default;
    friend constexpr bool operator<(Quantity a, Quantity b) { return a.value < b.value; }
    friend constexpr bool operator>(Quantity a, Quantity b) { return a.value > b.value; }
};

template <int T1, int B1, int F1, int T2, int B2, int F2>
constexpr auto operator/(Quantity<T1, B1, F1> a, Quantity<T2, B2, F2> b) {
    return Quantity<T1 - T2, B1 - B2, F1 - F2>(a.value / b.value);
}
template <int T1, int B1, int F1, int T2, int B2, int F2>
constexpr auto operator*(Quantity<T1, B1, F1> a, Quantity<T2, B2, F2> b) {
    return Quantity<T1 + T2, B1 + B2, F1 + F2>(a.value * b.value);
}

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1>;

/// Simulated time. One picosecond steps make ties real and sums exact; the range is +-106 days.
using Picoseconds = std::int64_t;

/// Exact memory sizes; the memory model counts, it does not estimate.
using ByteCount = std::int64_t;

inline constexpr double picoseconds_per_second = 1e12;

/// The only conversion from model time to engine time, rounded to nearest.
/// Precondition: t is finite, not negative and below 9.2e6 s.
inline Picoseconds to_picoseconds(Seconds t) {
    assert(std::isfinite(t.value) && t.value >= 0.0 &&
           t.value < static_cast<double>(std::numeric_limits<Picoseconds>::max()) / picoseconds_per_second);
    return std::llround(t.value * picoseconds_per_second);
}
constexpr Seconds to_seconds(Picoseconds t) {
    return Seconds(static_cast<double>(t) / picoseconds_per_second);
}
constexpr double to_milliseconds(Picoseconds t) {
    return static_cast<double>(t) / 1e9;
}

}  // namespace foreshard
