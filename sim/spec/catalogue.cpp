#include "sim/spec/catalogue.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/error.hpp"
#include "sim/spec/embedded_files.hpp"
#include "sim/spec/json_specs.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard {

namespace {

constexpr std::string_view json_ending = ".json";
constexpr std::string_view schema_ending = ".schema.json";

/// "clusters/selene.json" -> {"clusters", "selene"}.
CatalogueEntry entry_of(const EmbeddedFile& file) {
    const std::size_t slash = file.path.find('/');
    const std::string_view name = file.path.substr(slash + 1);
    return {file.path.substr(0, slash), name.substr(0, name.size() - json_ending.size()), file.text};
}

/// Ids near to what was typed: the closest by spelling, then those that contain it.
std::vector<std::string> close_ids(std::string_view kind, const std::string& id) {
    std::vector<std::string> all;
    for (const CatalogueEntry& entry : catalogue(kind)) all.emplace_back(entry.id);
    std::vector<std::string> close = closest(id, all, 3);
    for (const std::string& candidate : all) {
        const bool contains = !id.empty() && candidate.find(id) != std::string::npos;
        const bool listed = std::find(close.begin(), close.end(), candidate) != close.end();
        if (contains && !listed && close.size() < 8) close.push_back(candidate);
    }
    return close;
}

std::string flag_of_kind(std::string_view kind) {
    if (kind == "plans") return "--job";
    if (kind == "software") return "--software";
    return "--" + std::string(kind.substr(0, kind.size() - 1));
}

/// A document of the catalogue or of a file, with the name to use for it in messages.
struct Document {
    Json json;
    std::string source;
};

Document open(std::string_view kind, const std::string& name) {
    if (is_file_name(name)) return {read_json_file(name), name};
    const CatalogueEntry entry = find_in_catalogue(kind, name);
    std::string source = fmt::format("models/{}/{}.json", kind, entry.id);
    Json json = parse_json(entry.text, source);
    return {std::move(json), std::move(source)};
}

}  // namespace

const std::vector<std::string>& catalogue_kinds() {
    static const std::vector<std::string> kinds = {"models",   "clusters",     "devices",
                                                   "software", "calibrations", "plans"};
    return kinds;
}

std::vector<CatalogueEntry> catalogue(std::string_view kind) {
    std::vector<CatalogueEntry> entries;
    if (std::find(catalogue_kinds().begin(), catalogue_kinds().end(), kind) == catalogue_kinds().end()) return entries;
    for (const EmbeddedFile& file : embedded_files()) {
        const CatalogueEntry entry = entry_of(file);
        if (entry.kind == kind) entries.push_back(entry);
    }
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    return entries;
}

CatalogueEntry find_in_catalogue(std::string_view kind, const std::string& id) {
    for (const CatalogueEntry& entry : catalogue(kind)) {
        if (entry.id == id) return entry;
    }
    const std::vector<std::string> close = close_ids(kind, id);
    const std::string hint = close.empty() ? std::string() : fmt::format("did you mean {}? ", fmt::join(close, ", "));
    throw InputError(flag_of_kind(kind), "",
                     fmt::format("'{}' is not in the catalogue of {}; {}'foreshard catalog {}' lists all, and a name "
                                 "with '/' or ending in .json is a file",
                                 id, kind, hint, kind));
}

std::string_view schema_text(const std::string& name) {
    constexpr std::string_view prefix = "foreshard.";
    const std::string wanted = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    std::vector<std::string> known;
    for (const EmbeddedFile& file : embedded_files()) {
        if (!file.path.starts_with("schemas/") || !file.path.ends_with(schema_ending)) continue;
        const std::string_view base = file.path.substr(file.path.find('/') + 1);
        known.emplace_back(base.substr(0, base.size() - schema_ending.size()));
        if (known.back() == wanted) return file.text;
    }
    throw InputError("schema", "", fmt::format("there is no schema '{}'; valid: {}", name, fmt::join(known, ", ")));
}

bool is_file_name(const std::string& name) {
    return name.find('/') != std::string::npos || name.ends_with(json_ending);
}

LoadedModel load_model(const std::string& name) {
    const Document document = open("models", name);
    if (is_hf_config(document.json)) return read_hf_config(document.json, document.source);
    return {read_model(document.json, document.source), {}};
}

ClusterSpec load_cluster(const std::string& name) {
    const Document document = open("clusters", name);
    return read_cluster(document.json, document.source);
}

DeviceSpec load_device(const std::string& name) {
    const Document document = open("devices", name);
    return read_device(document.json, document.source);
}

std::vector<CollectiveFit> load_fabric(const std::string& name) {
    const Document document = open("calibrations", name);
    return read_fabric(document.json, document.source);
}

KernelTable load_kernels(const std::string& name) {
    const Document document = open("calibrations", name);
    return read_kernels(document.json, document.source);
}

SharedCalibration load_calibration(const std::string& name) {
    const Document document = open("calibrations", name);
    return std::make_shared<const Calibration>(read_calibration(document.json, document.source));
}

SoftwareProfile load_software(const std::string& name) {
    const Document document = open("software", name);
    return read_software(document.json, document.source);
}

StageTimes load_stage_times(const std::string& file) {
    return read_stage_times(read_json_file(file), file);
}

JobRequest load_job_request(const std::string& name) {
    const Document document = open("plans", name);
    return read_job_request(document.json, document.source);
}

}  // namespace foreshard
