#include "gui/app/json_session.hpp"

#include <limits>

#include "sim/spec/json_reader.hpp"

namespace foreshard::gui {

namespace {

const std::vector<std::pair<std::string_view, ReportPart>> part_names = {
    {"all", ReportPart::all}, {"simulation", ReportPart::simulation}, {"measurement", ReportPart::measurement}};

OrderedJson runJson(const SessionRun& run) {
    OrderedJson changes = OrderedJson::object();
    for (const RequestValue& change : run.open.changes) changes[change.name] = change.text;
    OrderedJson json = {{"source", run.open.source}, {"changes", changes}, {"shown", run.shown}};
    if (!run.open.name.empty()) json["name"] = run.open.name;
    if (run.open.part != ReportPart::all) json["part"] = part_names[static_cast<std::size_t>(run.open.part)].first;
    return json;
}

SessionRun readRun(JsonObject object) {
    SessionRun run;
    run.open.source = object.required<std::string>("source");
    run.open.name = object.optional<std::string>("name").value_or("");
    run.shown = object.optional<bool>("shown").value_or(true);
    if (object.has("part")) run.open.part = object.one_of("part", part_names);
    if (object.has("changes")) {
        JsonObject changes = object.object("changes");
        for (const std::string& name : changes.unknown_keys()) {
            run.open.changes.push_back({name, changes.required<std::string>(name)});
        }
    }
    object.finish();
    return run;
}

/// A list of whole numbers; none: empty.
std::vector<std::int64_t> readNumbers(JsonObject& root, const std::string& key, Range range) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> numbers;
    root.ignore(key);
    if (!root.has(key)) return numbers;
    if (!root.at(key).is_array()) root.fail(key, "a list of whole numbers is wanted");
    for (const Json& number : root.at(key)) {
        const bool large = number.is_number_unsigned() && number.get<std::uint64_t>() > most;
        const bool whole = number.is_number_integer() && !large;
        if (!whole || (range == Range::not_negative && number.get<std::int64_t>() < 0)) {
            root.fail(key, number.dump() + " is not a whole number" + (range == Range::any ? "" : " from 0 on"));
        }
        numbers.push_back(number.get<std::int64_t>());
    }
    return numbers;
}

}  // namespace

std::string sessionText(const Session& session) {
    OrderedJson runs = OrderedJson::array();
    for (const SessionRun& run : session.runs) runs.push_back(runJson(run));
    OrderedJson json = {{"schema", "foreshard.session"},
                        {"schema_version", "1.0"},
                        {"runs", runs},
                        {"searches", session.searches},
                        {"search", session.search},
                        {"edited", session.edited},
                        {"mode", session.mode},
                        {"theme", session.theme},
                        {"begin_ps", session.begin},
                        {"end_ps", session.end},
                        {"marks_ps", session.marks},
                        {"pinned_ranks", session.pinnedRanks},
                        {"expanded_ranks", session.expandedRanks}};
    return json.dump(2) + "\n";
}

Session parseSession(const std::string& name, const std::string& text) {
    const Json json = parse_json(text, name);
    JsonObject root = open_document(json, "foreshard.session", name);
    Session session;
    for (JsonObject& run : root.objects("runs")) session.runs.push_back(readRun(std::move(run)));
    if (root.has("searches")) {
        root.ignore("searches");
        for (const Json& search : root.at("searches")) {
            if (!search.is_string()) root.fail("searches", "a list of file names is wanted");
            session.searches.push_back(search.get<std::string>());
        }
    }
    if (root.has("search")) {
        JsonObject texts = root.object("search");
        for (const std::string& field : texts.unknown_keys())
            session.search[field] = texts.required<std::string>(field);
    }
    session.edited = static_cast<std::size_t>(root.optional<std::int64_t>("edited", Range::not_negative).value_or(0));
    session.mode = root.optional<std::string>("mode").value_or("single");
    session.theme = root.optional<std::string>("theme").value_or("light");
    session.begin = root.optional<std::int64_t>("begin_ps").value_or(0);
    session.end = root.optional<std::int64_t>("end_ps").value_or(0);
    session.marks = readNumbers(root, "marks_ps", Range::any);
    session.pinnedRanks = readNumbers(root, "pinned_ranks", Range::not_negative);
    session.expandedRanks = readNumbers(root, "expanded_ranks", Range::not_negative);
    root.finish();
    return session;
}

}  // namespace foreshard::gui
