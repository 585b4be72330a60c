#pragma once

#include <cstdint>
#include <string>

namespace foreshard::test {

/// The text with one to eight random edits: bytes changed, cut out, doubled, or numbers and words of JSON put in their
/// place. The same seed gives the same text.
std::string mutated(const std::string& text, std::uint64_t seed);

}  // namespace foreshard::test
