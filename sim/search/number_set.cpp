#include "sim/search/number_set.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "sim/error.hpp"

namespace foreshard {

namespace {

std::int64_t set_number(const std::string& flag, const std::string& text, std::string_view part) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || part.empty()) {
        throw InputError(flag, "", fmt::format("'{}' in '{}' is no whole number; write 8, 1,2,4 or 1..8", part, text));
    }
    return value;
}

}  // namespace

std::string axis_flag(const std::string& axis) {
    std::string flag = "--" + axis;
    std::replace(flag.begin(), flag.end(), '_', '-');
    return flag;
}

bool NumberSet::contains(std::int64_t value) const {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const Range& range) { return range.first <= value && value <= range.last; });
}

std::vector<std::int64_t> NumberSet::singles() const {
    std::vector<std::int64_t> values;
    for (const Range& range : ranges) {
        if (range.first == range.last) values.push_back(range.first);
    }
    return values;
}

std::vector<std::string> parse_word_list(const std::string& flag, const std::string& text) {
    std::vector<std::string> words;
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        std::string word = text.substr(begin, end - begin);
        word.erase(0, std::min(word.find_first_not_of(' '), word.size()));
        word.erase(word.find_last_not_of(' ') + 1);
        if (word.empty()) throw InputError(flag, "", fmt::format("'{}' has an empty part", text));
        words.push_back(std::move(word));
        begin = end + 1;
    }
    return words;
}

NumberSet parse_number_set(const std::string& flag, const std::string& text) {
    NumberSet set;
    for (const std::string& part : parse_word_list(flag, text)) {
        const std::size_t dots = part.find("..");
        const std::int64_t first = set_number(flag, text, std::string_view(part).substr(0, dots));
        const std::int64_t last =
            dots == std::string::npos ? first : set_number(flag, text, std::string_view(part).substr(dots + 2));
        if (last < first) throw InputError(flag, "", fmt::format("the range '{}' runs downwards", part));
        set.ranges.push_back({first, last});
    }
    return set;
}

}  // namespace foreshard
