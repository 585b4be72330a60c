#include "sim/result/json_comparison.hpp"

#include <algorithm>

#include "sim/result/waterfall.hpp"
#include "sim/spec/json_reader.hpp"

namespace foreshard {

namespace {

OrderedJson terms_json(const StepTerms& terms) {
    OrderedJson json = OrderedJson::object();
    for (int i = 0; i < step_term_count; ++i) {
        json[std::string(key_of(static_cast<StepTerm>(i)))] = to_milliseconds(terms[static_cast<std::size_t>(i)]);
    }
    return json;
}

OrderedJson run_json(const Run& run) {
    OrderedJson json = {
        {"name", run.name}, {"source", to_string(run.source)}, {"step_time_ms", to_milliseconds(run.step_time)}};
    if (!run.accounts.empty()) json["terms_ms"] = terms_json(step_terms(run));
    json["notes"] = run.notes;
    return json;
}

OrderedJson settings_json(const std::vector<SettingDifference>& settings) {
    OrderedJson json = OrderedJson::array();
    for (const SettingDifference& s : settings) {
        OrderedJson entry = {{"name", s.name}};
        if (!s.a.empty()) entry["a"] = s.a;
        if (!s.b.empty()) entry["b"] = s.b;
        json.push_back(std::move(entry));
    }
    return json;
}

OrderedJson figures_json(const Run& a, const Run& b) {
    OrderedJson json = OrderedJson::object();
    for (const FigureDifference& f : compare_figures(a, b)) {
        json[f.key] = {{"a", f.a}, {"b", f.b}, {"difference", f.difference()}};
    }
    return json;
}

OrderedJson kinds_json(const SpanTable& spans, const std::vector<std::size_t>& which) {
    OrderedJson json = OrderedJson::object();
    for (int i = 0; i < span_kind_count; ++i) {
        const auto kind = static_cast<SpanKind>(i);
        const auto is_kind = [&](std::size_t span) { return spans.kind[span] == kind; };
        const auto count = std::count_if(which.begin(), which.end(), is_kind);
        if (count > 0) json[std::string(to_string(kind))] = count;
    }
    return json;
}

OrderedJson matching_json(const Run& a, const Run& b, const Comparison& c) {
    OrderedJson json = {{"match_ratio", c.match_ratio()}, {"pairs", c.pairs.size()}};
    for (int i = 0; i < match_level_count; ++i) {
        json[std::string(to_string(static_cast<MatchLevel>(i)))] = c.matched[static_cast<std::size_t>(i)];
    }
    json["only_a"] = kinds_json(a.spans, c.only_a);
    json["only_b"] = kinds_json(b.spans, c.only_b);
    json["other_steps_a"] = c.outside_a;
    json["other_steps_b"] = c.outside_b;
    return json;
}

OrderedJson pair_json(const Run& a, const Run& b, const Comparison& c) {
    OrderedJson json = {{"a", a.name}, {"b", b.name}, {"settings", settings_json(c.settings)}, {"notes", c.notes}};
    json["difference_ms"] = to_milliseconds(b.step_time - a.step_time);
    if (!a.accounts.empty() && !b.accounts.empty()) json["waterfall_ms"] = terms_json(waterfall(a, b).difference);
    json["figures"] = figures_json(a, b);
    if (a.spans.size() > 0 && b.spans.size() > 0) json["matching"] = matching_json(a, b, c);
    return json;
}

}  // namespace

std::string comparison_json(const std::vector<Run>& runs, const std::vector<Comparison>& comparisons) {
    OrderedJson json = {{"schema", "foreshard.comparison"}, {"schema_version", "1.0"}};
    json["runs"] = OrderedJson::array();
    for (const Run& run : runs) json["runs"].push_back(run_json(run));
    json["comparisons"] = OrderedJson::array();
    for (std::size_t i = 0; i < comparisons.size(); ++i) {
        json["comparisons"].push_back(pair_json(runs[0], runs[i + 1], comparisons[i]));
    }
    // Names in traces may hold bytes that are no UTF-8.
    return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace foreshard
