#pragma once

#include <string>
#include <string_view>

/// What a file is that somebody opens, by its content.
namespace foreshard {

enum class FileKind { job, report, search, trace };
std::string_view to_string(FileKind kind);

/// Looks at the first part of the file: its `schema`, or the first keys that tell; gzip is looked through.
/// @throws UnreadableFile when it cannot be opened, InputError when it is none of these kinds
FileKind kind_of_file(const std::string& path);

}  // namespace foreshard
