#include "cli/json_catalog.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/error.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/json_reader.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard::cli {

namespace {

OrderedJson describe(const CatalogueEntry& entry) {
    const Json text = parse_json(entry.text, std::string(entry.id));
    return {{"kind", entry.kind}, {"id", entry.id}, {"name", text.value("name", "")}};
}

std::vector<std::string> chosen_kinds(const std::string& kind) {
    const std::vector<std::string>& kinds = catalogue_kinds();
    if (kind.empty()) return kinds;
    // "model" and "models" are the same kind.
    for (const std::string& known : kinds) {
        if (known == kind || known == kind + "s") return {known};
    }
    const std::string close = did_you_mean(kind, kinds);
    throw InputError(
        "catalog", "",
        fmt::format("there is no kind '{}'{}; valid: {}", kind,
                    close.empty() ? "" : fmt::format(" (did you mean {}?)", close), fmt::join(kinds, ", ")));
}

}  // namespace

std::string catalog_text(const CatalogOptions& options) {
    const std::vector<std::string> kinds = chosen_kinds(options.kind);
    if (!options.id.empty()) return std::string(find_in_catalogue(kinds.front(), options.id).text);
    OrderedJson list = OrderedJson::array();
    std::string text;
    for (const std::string& kind : kinds) {
        text += fmt::format("{}{}\n", text.empty() ? "" : "\n", kind);
        for (const CatalogueEntry& entry : catalogue(kind)) {
            list.push_back(describe(entry));
            text += fmt::format("  {:<32} {}\n", entry.id, list.back()["name"].get<std::string>());
        }
    }
    return options.json ? list.dump(2) + "\n" : text;
}

}  // namespace foreshard::cli
