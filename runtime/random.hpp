#pragma once

#include <cstdint>
#include <string_view>

/// Random numbers that are a function of what they are for, so that every layout draws the same.
namespace foreshard::runtime {

/// The counter-th output of splitmix64 from a key (Steele, Lea, Flood 2014, doi 10.1145/2660193.2660195).
constexpr std::uint64_t random_bits(std::uint64_t key, std::uint64_t counter) {
    std::uint64_t z = key + (counter + 1) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

/// Uniform in [-1, 1), 53 bits.
constexpr double random_unit(std::uint64_t key, std::uint64_t counter) {
    return static_cast<double>(random_bits(key, counter) >> 11) * 0x1p-52 - 1.0;
}

/// FNV-1a of the text, mixed with the seed.
constexpr std::uint64_t random_key(std::uint64_t seed, std::string_view text) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3ULL;
    return random_bits(hash, seed);
}

}  // namespace foreshard::runtime
