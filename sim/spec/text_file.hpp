#pragma once

#include <cstddef>
#include <string>

namespace foreshard {

inline constexpr std::size_t input_file_limit_bytes = std::size_t{16} << 20;

/// Reads a whole file, regular or not ("-" is standard input).
/// @throws UnreadableFile when it cannot be opened or read, is a directory, or exceeds `limit_bytes`
std::string read_text_file(const std::string& path, std::size_t limit_bytes = input_file_limit_bytes);

}  // namespace foreshard
