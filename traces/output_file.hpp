#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace foreshard {

/// A file that is written from start to end, through gzip when its name ends in ".gz".
class OutputFile {
public:
    /// @throws InputError when it cannot be opened
    explicit OutputFile(const std::string& path);

    /// @throws InputError when the disk is full, say
    void write(std::string_view text);

    /// Must be called: errors of the last bytes show up here. @throws InputError
    void close();

private:
    struct Closer {
        void operator()(void* file) const;
    };

    [[noreturn]] void fail(const std::string& what) const;

    std::string path_;
    std::unique_ptr<void, Closer> file_;  ///< zlib's gzFile; its type stays out of the header
};

}  // namespace foreshard
