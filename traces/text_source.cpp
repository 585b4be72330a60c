#include "traces/text_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <zlib.h>

#include "sim/error.hpp"

namespace foreshard {

void TextSource::Closer::operator()(void* file) const {
    gzclose(static_cast<gzFile>(file));
}

TextSource::TextSource(const std::string& path) : name_(path) {
    std::error_code status;
    if (std::filesystem::is_directory(path, status)) throw UnreadableFile(path, "", "is a directory, not a file");
    errno = 0;
    file_.reset(gzopen(path.c_str(), "rb"));
    if (!file_) throw UnreadableFile(path, "", "cannot be opened: " + std::generic_category().message(errno));
    constexpr unsigned buffer = 1U << 18;
    gzbuffer(static_cast<gzFile>(file_.get()), buffer);
}

std::size_t TextSource::read(char* into, std::size_t size) {
    if (!file_) {
        const std::size_t count = std::min(size, text_.size());
        std::memcpy(into, text_.data(), count);
        text_.remove_prefix(count);
        return count;
    }
    auto* file = static_cast<gzFile>(file_.get());
    const int count = gzread(file, into, static_cast<unsigned>(size));
    if (count >= 0) return static_cast<std::size_t>(count);
    int code = Z_OK;
    throw UnreadableFile(name_, "", std::string("is damaged: ") + gzerror(file, &code));
}

}  // namespace foreshard
