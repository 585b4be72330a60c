#pragma once

#include <string>
#include <string_view>

/// What a file is that somebody opens, by its content.
namespace foreshard {

enum class FileKind { job, report, search, trace };
std::string_view to_string(FileKind kind);

/// Looks at the first MiB, through gzip: a `schema` of ours, or the keys of a trace.
/// @throws UnreadableFile when the file cannot be opened or is none of these kinds
FileKind kind_of_file(const std::string& path);

/// The same of the first part of a file's text. @param name how messages call it
FileKind kind_of_text(const std::string& name, std::string_view text);

}  // namespace foreshard
