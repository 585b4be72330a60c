#pragma once

/// Prefixes of units.
namespace foreshard {

inline constexpr double milli = 1e-3;
inline constexpr double micro = 1e-6;
inline constexpr double giga = 1e9;
inline constexpr double tera = 1e12;
inline constexpr double gibi = 1024.0 * 1024.0 * 1024.0;

}  // namespace foreshard
