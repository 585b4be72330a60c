#include "cli/json_catalog.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/error.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/json_reader.hpp"
#include "sim/spec/resolve_options.hpp"
#include "sim/spec/schedule_kinds.hpp"
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

OrderedJson describe(const ScheduleTraits& schedule) {
    OrderedJson entry = {{"kind", "schedules"}, {"id", schedule.id}, {"name", schedule.source}};
    entry["aliases"] = schedule.aliases;
    entry["placement"] = to_string(schedule.placement);
    entry["vpp"] = schedule.chunks;
    entry["needs"] = schedule.needs;
    entry["bubble"] = schedule.bubble;
    entry["in_flight"] = schedule.in_flight;
    return entry;
}

std::string schedule_text(const ScheduleTraits& schedule) {
    return fmt::format(
        "{}\n  other names  {}\n  placement    {}\n  chunks       {}\n  needs        {}\n  bubble       {}\n"
        "  in flight    {}\n  source       {}\n",
        schedule.id, schedule.aliases.empty() ? "-" : fmt::format("{}", fmt::join(schedule.aliases, ", ")),
        to_string(schedule.placement), schedule.chunks, schedule.needs.empty() ? "-" : schedule.needs, schedule.bubble,
        schedule.in_flight, schedule.source);
}

/// Schedules are part of the program, not of the catalogue of files; they are listed beside it.
std::string schedules_text(const CatalogOptions& options) {
    if (!options.id.empty()) {
        const ScheduleTraits& schedule = traits_of(parse_schedule(options.id));
        return options.json ? describe(schedule).dump(2) + "\n" : schedule_text(schedule);
    }
    OrderedJson list = OrderedJson::array();
    std::string text = "schedules\n";
    for (const ScheduleTraits& schedule : schedule_kinds()) {
        list.push_back(describe(schedule));
        text += fmt::format("  {:<32} {}\n", schedule.id, schedule.source);
    }
    return options.json ? list.dump(2) + "\n" : text;
}

}  // namespace

std::string catalog_text(const CatalogOptions& options) {
    if (options.kind == "schedules" || options.kind == "schedule") return schedules_text(options);
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
