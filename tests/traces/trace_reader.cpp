#include "tests/traces/trace_reader.hpp"

#include <algorithm>
#include <sstream>
#include <tuple>

#include <gtest/gtest.h>

namespace foreshard {

using nlohmann::json;

namespace {

/// Makes integers of numbers that follow `key`, which must have `decimals` decimals.
std::string without_points(std::string text, const std::string& key, std::size_t decimals) {
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
        const std::size_t point = text.find_first_not_of("0123456789", at + key.size());
        if (text[point] != '.' || point == at + key.size()) ADD_FAILURE() << text.substr(at, 40);
        text.erase(point, 1);
        const std::size_t end = text.find_first_not_of("0123456789", point);
        EXPECT_EQ(end - point, decimals) << text.substr(at, 40);
        // JSON has no leading zeros.
        const std::size_t first = at + key.size();
        const std::size_t digit = std::min(text.find_first_not_of('0', first), end - 1);
        text.erase(first, digit - first);
    }
    return text;
}

Span span(const json& event, Picoseconds length) {
    const auto start = event["ts"].get<Picoseconds>();
    return {event["pid"], event["tid"], start, start + length, event};
}

}  // namespace

Trace::Trace(const Evaluation& evaluation, const ChromeTraceOptions& options) {
    std::ostringstream out;
    warnings = write_chrome_trace(out, evaluation, options);
    text = out.str();
    std::string exact = without_points(text, "\"ts\":", 6);
    exact = without_points(exact, "\"dur\":", 6);
    for (const char* part : {"compute", "recompute", "tp", "cp", "ep", "host"}) {
        exact = without_points(exact, std::string("\"") + part + "_ms\":", 9);
    }
    root = json::parse(exact);
    for (const json& event : root["traceEvents"]) {
        const std::string phase = event["ph"];
        if (phase == "i") spans.push_back(span(event, 0));
        if (phase != "X") continue;
        spans.push_back(span(event, event["dur"].get<Picoseconds>()));
        EXPECT_LT(spans.back().start, spans.back().end);
    }
}

std::vector<json> Trace::events(const std::string& phase) const {
    std::vector<json> found;
    for (const json& event : root["traceEvents"]) {
        if (event["ph"] == phase) found.push_back(event);
    }
    return found;
}

std::map<std::pair<int, int>, std::vector<Span>> Trace::lanes() const {
    std::map<std::pair<int, int>, std::vector<Span>> found;
    for (const Span& one : spans) found[{one.pid, one.tid}].push_back(one);
    for (auto& [lane, list] : found) {
        std::sort(list.begin(), list.end(),
                  [](const Span& a, const Span& b) { return std::tie(a.start, a.end) < std::tie(b.start, b.end); });
    }
    return found;
}

std::set<std::string> Trace::thread_names() const {
    std::set<std::string> names;
    for (const json& event : events("M")) {
        if (event["name"] == "thread_name") names.insert(event["args"]["name"].get<std::string>());
    }
    return names;
}

bool is_inside_a_pass(const Span& span) {
    const std::string category = span.event["cat"];
    return category == "tp" || category == "cp" || category == "ep";
}

}  // namespace foreshard
