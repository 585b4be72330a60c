#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace foreshard {

/// Text that is read from start to end: a file, through gzip when it is compressed, or text in memory.
class TextSource {
public:
    /// @throws UnreadableFile when the file cannot be opened or is a directory
    explicit TextSource(const std::string& path);

    /// @param name how messages call it; `text` must outlive the source
    TextSource(std::string name, std::string_view text) : name_(std::move(name)), text_(text) {}

    /// Up to `size` bytes; fewer only at the end. @throws UnreadableFile when the file is damaged
    std::size_t read(char* into, std::size_t size);

    const std::string& name() const { return name_; }

private:
    struct Closer {
        void operator()(void* file) const;
    };

    std::string name_;
    std::string_view text_;
    std::unique_ptr<void, Closer> file_;  ///< zlib's gzFile; its type stays out of the header
};

}  // namespace foreshard
