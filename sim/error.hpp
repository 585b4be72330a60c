#pragma once

#include <stdexcept>
#include <string>

namespace foreshard {

/// Bad input: says which file (or flag), where in it, and which rule is broken. Programs exit with 2.
class InputError : public std::runtime_error {
public:
    /// @param source file name or flag, e.g. "models/a.json" or "--layout"
    /// @param path   JSON pointer or position inside it; empty when there is none
    InputError(std::string source, std::string path, const std::string& reason)
        : std::runtime_error(source + (path.empty() ? "" : " at " + path) + ": " + reason),
          source_(std::move(source)),
          path_(std::move(path)) {}

    const std::string& source() const { return source_; }
    const std::string& path() const { return path_; }

private:
    std::string source_;
    std::string path_;
};

/// An input file that cannot be opened, is too large, or is not of the expected format. Programs exit with 4.
class UnreadableFile : public InputError {
public:
    using InputError::InputError;
};

}  // namespace foreshard
