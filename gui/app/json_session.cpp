#include "gui/app/json_session.hpp"

#include "sim/spec/json_reader.hpp"

namespace foreshard::gui {

namespace {

OrderedJson runJson(const SessionRun& run) {
    OrderedJson changes = OrderedJson::object();
    for (const RequestValue& change : run.open.changes) changes[change.name] = change.text;
    OrderedJson json = {{"source", run.open.source}, {"changes", changes}, {"shown", run.shown}};
    if (!run.open.name.empty()) json["name"] = run.open.name;
    return json;
}

SessionRun readRun(JsonObject object) {
    SessionRun run;
    run.open.source = object.required<std::string>("source");
    run.open.name = object.optional<std::string>("name").value_or("");
    run.shown = object.optional<bool>("shown").value_or(true);
    if (object.has("changes")) {
        JsonObject changes = object.object("changes");
        for (const std::string& name : changes.unknown_keys()) {
            run.open.changes.push_back({name, changes.required<std::string>(name)});
        }
    }
    object.finish();
    return run;
}

}  // namespace

std::string sessionText(const Session& session) {
    OrderedJson runs = OrderedJson::array();
    for (const SessionRun& run : session.runs) runs.push_back(runJson(run));
    OrderedJson json = {{"schema", "foreshard.session"}, {"schema_version", "1.0"},   {"runs", runs},
                        {"searches", session.searches},  {"edited", session.edited},  {"mode", session.mode},
                        {"theme", session.theme},        {"begin_ps", session.begin}, {"end_ps", session.end}};
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
    session.edited = static_cast<std::size_t>(root.optional<std::int64_t>("edited", Range::not_negative).value_or(0));
    session.mode = root.optional<std::string>("mode").value_or("single");
    session.theme = root.optional<std::string>("theme").value_or("light");
    session.begin = root.optional<std::int64_t>("begin_ps").value_or(0);
    session.end = root.optional<std::int64_t>("end_ps").value_or(0);
    root.finish();
    return session;
}

}  // namespace foreshard::gui
