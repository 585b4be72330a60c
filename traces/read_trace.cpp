#include "traces/read_trace.hpp"

#include <filesystem>

#include "sim/error.hpp"
#include "traces/trace_run.hpp"

namespace foreshard {

namespace {

std::string file_name(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

TraceFile read_file(const std::string& path, const TraceLimits& limits) {
    TextSource source(path);
    return {file_name(path), collect_trace(source, limits)};
}

}  // namespace

Run read_trace(const std::string& path, const TraceLimits& limits) {
    std::vector<TraceFile> files;
    files.push_back(read_file(path, limits));
    return make_trace_run(file_name(path), files);
}

Run parse_trace(const std::string& name, std::string_view text, const TraceLimits& limits) {
    TextSource source(name, text);
    std::vector<TraceFile> files;
    files.push_back({name, collect_trace(source, limits)});
    return make_trace_run(name, files);
}

Run read_traces(const std::vector<std::string>& paths, const TraceLimits& limits) {
    if (paths.empty()) throw InputError("traces", "", "no file is named");
    std::vector<TraceFile> files;
    files.reserve(paths.size());
    for (const std::string& path : paths) files.push_back(read_file(path, limits));
    return make_trace_run(file_name(paths.front()), files);
}

}  // namespace foreshard
