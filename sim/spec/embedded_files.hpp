#pragma once

#include <span>
#include <string_view>

namespace foreshard {

/// One JSON file of the catalogue (`models/`), compiled into the library.
struct EmbeddedFile {
    std::string_view path;  ///< relative to `models/`, e.g. "clusters/selene.json"
    std::string_view text;
};

/// All files of the catalogue, sorted by path. Generated at build time by cmake/embed_catalogue.cmake.
std::span<const EmbeddedFile> embedded_files();

}  // namespace foreshard
