#include "traces/file_kind.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "traces/text_source.hpp"

namespace foreshard {

namespace {

/// A report and a search hold a job, so they come first.
constexpr std::array<std::pair<std::string_view, FileKind>, 5> kinds = {{{"foreshard.report", FileKind::report},
                                                                         {"foreshard.search", FileKind::search},
                                                                         {"traceEvents", FileKind::trace},
                                                                         {"foreshard.job", FileKind::job},
                                                                         {"ph", FileKind::trace}}};

}  // namespace

std::string_view to_string(FileKind kind) {
    switch (kind) {
        case FileKind::job:
            return "job";
        case FileKind::report:
            return "report";
        case FileKind::search:
            return "search";
        case FileKind::trace:
            return "trace";
    }
    return "";
}

FileKind kind_of_text(const std::string& name, std::string_view text) {
    for (const auto& [word, kind] : kinds) {
        if (text.find(fmt::format("\"{}\"", word)) != std::string_view::npos) return kind;
    }
    throw UnreadableFile(name, "",
                         "is no job, report, search or trace: it has neither a schema of ours nor traceEvents");
}

FileKind kind_of_file(const std::string& path) {
    constexpr std::size_t looked_at = std::size_t{1} << 20;
    TextSource source(path);
    std::string text(looked_at, '\0');
    text.resize(source.read(text.data(), text.size()));
    return kind_of_text(path, text);
}

}  // namespace foreshard
