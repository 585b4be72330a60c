#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/spec/text_file.hpp"

/// Reading JSON that people wrote: limits, exact places in messages, no key that is silently ignored.
namespace foreshard {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  ///< for output: keys in the order in which they are documented

/// @param source file name for messages
/// @throws UnreadableFile for text over the limit, nested deeper than 64 levels, or that is no JSON
/// @throws InputError for a key that stands twice in an object
Json parse_json(std::string_view text, const std::string& source, std::size_t limit_bytes = input_file_limit_bytes);

/// read_text_file, then parse_json.
Json read_json_file(const std::string& path, std::size_t limit_bytes = input_file_limit_bytes);

enum class Range { any, not_negative, positive, ratio };  ///< ratio: 0 to 1

/// One object of a document. Every getter throws InputError naming file, JSON path, value and rule.
/// Refers to the document, which must outlive it.
class JsonObject {
public:
    JsonObject(const Json& value, std::string source, std::string path = "");

    bool has(const std::string& key) const { return value_->contains(key); }

    /// T: std::string, bool, int, std::int64_t or double.
    template <class T>
    T required(const std::string& key, Range range = Range::any);
    template <class T>
    std::optional<T> optional(const std::string& key, Range range = Range::any);

    /// A string that must be one of the names; returns the value that belongs to it.
    template <class T>
    T one_of(const std::string& key, const std::vector<std::pair<std::string_view, T>>& names) {
        return names[index_of(key, first_of(names))].second;
    }

    JsonObject object(const std::string& key);
    std::optional<JsonObject> optional_object(const std::string& key);
    std::vector<JsonObject> objects(const std::string& key);  ///< a required array of objects

    /// The value itself, for keys that may have several types.
    const Json& at(const std::string& key);
    bool holds_text(const std::string& key) const { return has(key) && value_->at(key).is_string(); }

    void ignore(const std::string& key) { known_.push_back(key); }

    /// Keys that no getter has asked for.
    std::vector<std::string> unknown_keys() const;
    /// @throws InputError on an unknown key, with the known one that is closest
    void finish() const;

    [[noreturn]] void fail(const std::string& key, const std::string& reason) const;
    const std::string& source() const { return source_; }
    std::string path_of(const std::string& key) const { return path_ + "/" + key; }

private:
    template <class T>
    static std::vector<std::string_view> first_of(const std::vector<std::pair<std::string_view, T>>& names) {
        std::vector<std::string_view> first;
        first.reserve(names.size());
        for (const auto& name : names) first.push_back(name.first);
        return first;
    }
    std::size_t index_of(const std::string& key, const std::vector<std::string_view>& names);

    const Json* value_;
    std::string source_;
    std::string path_;
    std::vector<std::string> known_;
};

/// An object of one kind: checks "schema" and "schema_version", which an object inside another file may leave out.
/// @param path empty for the root of a file
JsonObject open_document(const Json& value, std::string_view schema, const std::string& source,
                         const std::string& path = "");

}  // namespace foreshard
