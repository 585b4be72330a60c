#include "sim/spec/json_reader.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/error.hpp"
#include "sim/spec/suggest.hpp"
#include "sim/spec/text_file.hpp"

namespace foreshard {

namespace {

constexpr int nesting_limit = 64;

/// Counts brackets outside strings before parsing, because a parser that builds a tree may run out of stack.
void check_nesting(std::string_view text, const std::string& source) {
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > nesting_limit) {
                throw UnreadableFile(source, fmt::format("byte {}", i + 1),
                                     fmt::format("JSON is nested deeper than {} levels", nesting_limit));
            }
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
}

/// "[json.exception.parse_error.101] parse error at line 3, column 7: syntax error ..." without the library's prefix.
std::string plain_reason(const std::exception& error) {
    const std::string what = error.what();
    const std::size_t end = what.find("] ");
    return what.starts_with("[json.exception") && end != std::string::npos ? what.substr(end + 2) : what;
}

/// Refuses a key that stands twice in one object; the library would keep the last.
class DuplicateKeys {
public:
    explicit DuplicateKeys(std::string source) : source_(std::move(source)) {}

    bool operator()(int /*depth*/, Json::parse_event_t event, const Json& parsed) {
        if (event == Json::parse_event_t::object_start) {
            seen_.emplace_back();
        } else if (event == Json::parse_event_t::object_end) {
            seen_.pop_back();
        } else if (event == Json::parse_event_t::key && !seen_.back().insert(parsed.get<std::string>()).second) {
            throw InputError(source_, "",
                             fmt::format("key '{}' stands twice in one object", parsed.get<std::string>()));
        }
        return true;
    }

private:
    std::string source_;
    std::vector<std::set<std::string>> seen_;
};

std::string shown(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
}

template <class T>
std::string_view range_rule(Range range) {
    constexpr bool whole = std::is_integral_v<T>;
    switch (range) {
        case Range::any:
            return whole ? "an integer" : "a number";
        case Range::not_negative:
            return whole ? "an integer, 0 or more" : "a number, 0 or more";
        case Range::positive:
            return whole ? "an integer, 1 or more" : "a number greater than 0";
        case Range::ratio:
            return "a number from 0 to 1";
    }
    return "";
}

bool in_range(double value, Range range) {
    switch (range) {
        case Range::any:
            return std::isfinite(value);
        case Range::not_negative:
            return std::isfinite(value) && value >= 0.0;
        case Range::positive:
            return std::isfinite(value) && value > 0.0;
        case Range::ratio:
            return value >= 0.0 && value <= 1.0;
    }
    return false;
}

/// 1e12 and 8.0 are integers too, as long as a double holds them exactly.
std::optional<std::int64_t> whole_number(const Json& value) {
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
        return static_cast<std::int64_t>(number);
    }
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (!value.is_number_float()) return std::nullopt;
    constexpr double exact_limit = 9007199254740992.0;
    const auto number = value.get<double>();
    if (std::trunc(number) != number || std::abs(number) > exact_limit) return std::nullopt;
    return static_cast<std::int64_t>(number);
}

template <class T>
std::optional<T> number_in_range(const Json& value, Range range) {
    if constexpr (std::is_same_v<T, double>) {
        if (!value.is_number() || !in_range(value.get<double>(), range)) return std::nullopt;
        return value.get<double>();
    } else {
        const std::optional<std::int64_t> number = whole_number(value);
        if (!number || !in_range(static_cast<double>(*number), range)) return std::nullopt;
        if (*number < std::numeric_limits<T>::min() || *number > std::numeric_limits<T>::max()) return std::nullopt;
        return static_cast<T>(*number);
    }
}

}  // namespace

Json parse_json(std::string_view text, const std::string& source, std::size_t limit_bytes) {
    if (text.size() > limit_bytes) {
        throw UnreadableFile(source, "", fmt::format("is larger than the limit of {} MiB", limit_bytes >> 20));
    }
    check_nesting(text, source);
    try {
        return Json::parse(text, DuplicateKeys(source));
    } catch (const Json::exception& error) {
        throw UnreadableFile(source, "", "not valid JSON: " + plain_reason(error));
    }
}

Json read_json_file(const std::string& path, std::size_t limit_bytes) {
    return parse_json(read_text_file(path, limit_bytes), path, limit_bytes);
}

JsonObject::JsonObject(const Json& value, std::string source, std::string path)
    : value_(&value), source_(std::move(source)), path_(std::move(path)) {
    if (value.is_object()) return;
    throw InputError(source_, path_.empty() ? "/" : path_, fmt::format("{} must be an object", shown(value)));
}

void JsonObject::fail(const std::string& key, const std::string& reason) const {
    throw InputError(source_, path_of(key), reason);
}

const Json& JsonObject::at(const std::string& key) {
    known_.push_back(key);
    if (!has(key)) fail(key, "this key is required, but missing");
    return value_->at(key);
}

template <class T>
T JsonObject::required(const std::string& key, Range range) {
    const Json& value = at(key);
    if constexpr (std::is_same_v<T, std::string>) {
        if (!value.is_string()) fail(key, fmt::format("{} must be a string", shown(value)));
        return value.get<std::string>();
    } else if constexpr (std::is_same_v<T, bool>) {
        if (!value.is_boolean()) fail(key, fmt::format("{} must be true or false", shown(value)));
        return value.get<bool>();
    } else {
        const std::optional<T> number = number_in_range<T>(value, range);
        if (!number) fail(key, fmt::format("{} must be {}", shown(value), range_rule<T>(range)));
        return *number;
    }
}

template <class T>
std::optional<T> JsonObject::optional(const std::string& key, Range range) {
    known_.push_back(key);
    if (!has(key)) return std::nullopt;
    return required<T>(key, range);
}

template std::string JsonObject::required(const std::string&, Range);
template bool JsonObject::required(const std::string&, Range);
template int JsonObject::required(const std::string&, Range);
template std::int64_t JsonObject::required(const std::string&, Range);
template double JsonObject::required(const std::string&, Range);
template std::optional<std::string> JsonObject::optional(const std::string&, Range);
template std::optional<bool> JsonObject::optional(const std::string&, Range);
template std::optional<int> JsonObject::optional(const std::string&, Range);
template std::optional<std::int64_t> JsonObject::optional(const std::string&, Range);
template std::optional<double> JsonObject::optional(const std::string&, Range);

std::size_t JsonObject::index_of(const std::string& key, const std::vector<std::string_view>& names) {
    const auto value = required<std::string>(key);
    const auto found = std::find(names.begin(), names.end(), value);
    if (found == names.end()) fail(key, fmt::format("'{}' must be one of {}", value, fmt::join(names, ", ")));
    return static_cast<std::size_t>(found - names.begin());
}

JsonObject JsonObject::object(const std::string& key) {
    return {at(key), source_, path_of(key)};
}

std::optional<JsonObject> JsonObject::optional_object(const std::string& key) {
    known_.push_back(key);
    if (!has(key)) return std::nullopt;
    return object(key);
}

std::vector<JsonObject> JsonObject::objects(const std::string& key) {
    const Json& value = at(key);
    if (!value.is_array()) fail(key, fmt::format("{} must be an array", shown(value)));
    std::vector<JsonObject> out;
    for (std::size_t i = 0; i < value.size(); ++i) {
        out.emplace_back(value[i], source_, fmt::format("{}/{}", path_of(key), i));
    }
    return out;
}

std::vector<std::string> JsonObject::unknown_keys() const {
    std::vector<std::string> unknown;
    for (const auto& item : value_->items()) {
        if (std::find(known_.begin(), known_.end(), item.key()) == known_.end()) unknown.push_back(item.key());
    }
    return unknown;
}

void JsonObject::finish() const {
    const std::vector<std::string> unknown = unknown_keys();
    if (unknown.empty()) return;
    const std::string close = did_you_mean(unknown.front(), known_);
    std::vector<std::string> valid = known_;
    std::sort(valid.begin(), valid.end());
    valid.erase(std::unique(valid.begin(), valid.end()), valid.end());
    fail(unknown.front(), close.empty() ? fmt::format("unknown key; valid: {}", fmt::join(valid, ", "))
                                        : fmt::format("unknown key; did you mean '{}'?", close));
}

JsonObject open_document(const Json& value, std::string_view schema, const std::string& source,
                         const std::string& path) {
    JsonObject root(value, source, path);
    const bool may_omit = !path.empty();
    const auto kind = may_omit ? root.optional<std::string>("schema") : root.required<std::string>("schema");
    if (kind && *kind != schema) root.fail("schema", fmt::format("'{}' must be '{}'", *kind, schema));
    const auto version =
        may_omit ? root.optional<std::string>("schema_version") : root.required<std::string>("schema_version");
    if (version && !version->starts_with("1.")) {
        root.fail("schema_version", fmt::format("version '{}' is not known; this program reads 1.0", *version));
    }
    return root;
}

}  // namespace foreshard
