#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "sim/error.hpp"

/// What the fuzzers share. An input is read, or refused by an InputError with a text; all else is a find.
namespace foreshard::fuzz {

/// Ends the program, which is how libFuzzer learns of a find.
inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

/// @param read called with the input as text
template <class Read>
int run(const std::uint8_t* data, std::size_t size, const Read& read) {
    try {
        read(std::string(reinterpret_cast<const char*>(data), size));
    } catch (const InputError& error) {
        require(*error.what() != '\0', "a refusal says why");
    }
    return 0;
}

}  // namespace foreshard::fuzz
