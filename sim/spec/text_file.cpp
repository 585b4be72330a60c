#include "sim/spec/text_file.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

#include <fmt/format.h>

#include "sim/error.hpp"

namespace foreshard {

namespace {

/// Stops one byte after the limit, so that an endless file is refused too.
std::string read_stream(std::istream& in, const std::string& path, std::size_t limit_bytes) {
    constexpr std::size_t block = std::size_t{1} << 16;
    std::string text;
    while (in && text.size() <= limit_bytes) {
        const std::size_t old = text.size();
        text.resize(old + block);
        in.read(text.data() + old, static_cast<std::streamsize>(block));
        text.resize(old + static_cast<std::size_t>(in.gcount()));
    }
    if (in.bad()) throw UnreadableFile(path, "", "reading failed");
    if (text.size() > limit_bytes) {
        throw UnreadableFile(path, "", fmt::format("is larger than the limit of {} MiB", limit_bytes >> 20));
    }
    return text;
}

}  // namespace

std::string read_text_file(const std::string& path, std::size_t limit_bytes) {
    if (path == "-") return read_stream(std::cin, "standard input", limit_bytes);
    std::error_code status;
    if (std::filesystem::is_directory(path, status)) throw UnreadableFile(path, "", "is a directory, not a file");
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        throw UnreadableFile(path, "", "cannot be opened: " + std::generic_category().message(errno));
    }
    return read_stream(in, path, limit_bytes);
}

}  // namespace foreshard
