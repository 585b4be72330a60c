#include "sim/search/sizes.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/search/number_set.hpp"

namespace foreshard {

namespace {

constexpr std::size_t most_sizes = 1000;
constexpr std::int64_t largest_size = std::numeric_limits<int>::max();

struct SizeRange {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::optional<std::int64_t> step;
};

/// The sizes that a range without a step stands for.
using SizesInRange = std::function<std::vector<std::int64_t>(const SizeRange&)>;

std::int64_t size_number(const std::string& flag, const std::string& part, std::string_view digits) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 1 || value > largest_size) {
        throw InputError(flag, "",
                         fmt::format("'{}' in '{}' is no whole number from 1 on; write 64, 64,128, 64..4096 or "
                                     "64..512:64",
                                     digits, part));
    }
    return value;
}

SizeRange size_range(const std::string& flag, const std::string& part) {
    const std::string_view text = part;
    const std::size_t dots = text.find("..");
    SizeRange range;
    range.first = size_number(flag, part, text.substr(0, dots));
    range.last = range.first;
    if (dots == std::string_view::npos) return range;
    const std::string_view rest = text.substr(dots + 2);
    const std::size_t colon = rest.find(':');
    range.last = size_number(flag, part, rest.substr(0, colon));
    if (colon != std::string_view::npos) range.step = size_number(flag, part, rest.substr(colon + 1));
    if (range.last < range.first) throw InputError(flag, "", fmt::format("the range '{}' runs downwards", part));
    return range;
}

/// first, first * 2, ... up to the range's last.
std::vector<std::int64_t> doubled(std::int64_t first, const SizeRange& range) {
    std::vector<std::int64_t> sizes;
    for (std::int64_t size = first; size <= range.last; size *= 2) {
        if (size >= range.first) sizes.push_back(size);
    }
    return sizes;
}

std::vector<std::int64_t> stepped(const SizeRange& range) {
    std::vector<std::int64_t> sizes;
    for (std::int64_t size = range.first; size <= range.last && sizes.size() <= most_sizes; size += *range.step) {
        sizes.push_back(size);
    }
    return sizes;
}

std::vector<std::int64_t> parse_sizes(const std::string& flag, const std::string& text, const SizesInRange& in_range,
                                      const char* meaning) {
    std::vector<std::int64_t> sizes;
    for (const std::string& part : parse_word_list(flag, text)) {
        const SizeRange range = size_range(flag, part);
        const bool single = part.find("..") == std::string::npos;
        const std::vector<std::int64_t> some =
            single ? std::vector{range.first} : (range.step ? stepped(range) : in_range(range));
        if (some.empty()) {
            throw InputError(flag, "",
                             fmt::format("the range '{}' holds no size: it stands for {}; {}..{}:1 is every number",
                                         part, meaning, range.first, range.last));
        }
        sizes.insert(sizes.end(), some.begin(), some.end());
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    if (sizes.size() > most_sizes) {
        throw InputError(flag, "", fmt::format("'{}' has over {} sizes", text, most_sizes));
    }
    return sizes;
}

std::vector<int> as_gpus(const std::string& flag, const std::vector<std::int64_t>& sizes, std::int64_t each) {
    std::vector<int> gpus;
    gpus.reserve(sizes.size());
    for (const std::int64_t size : sizes) {
        if (size > largest_size / each) throw InputError(flag, "", fmt::format("{} is out of range", size));
        gpus.push_back(static_cast<int>(size * each));
    }
    return gpus;
}

}  // namespace

std::vector<int> parse_gpu_sizes(const std::string& text, int gpus_per_node) {
    const auto in_range = [&](const SizeRange& range) {
        std::vector<std::int64_t> sizes;
        for (std::int64_t part = range.first; part < gpus_per_node && part <= range.last; ++part) {
            if (gpus_per_node % part == 0) sizes.push_back(part);
        }
        const std::vector<std::int64_t> nodes = doubled(gpus_per_node, range);
        sizes.insert(sizes.end(), nodes.begin(), nodes.end());
        return sizes;
    };
    return as_gpus("--gpus", parse_sizes("--gpus", text, in_range, "a node times powers of two"), 1);
}

std::vector<int> parse_node_sizes(const std::string& text, int gpus_per_node) {
    const auto in_range = [](const SizeRange& range) { return doubled(1, range); };
    return as_gpus("--nodes", parse_sizes("--nodes", text, in_range, "powers of two"), gpus_per_node);
}

std::vector<std::int64_t> parse_batch_sizes(const std::string& text) {
    const auto in_range = [](const SizeRange& range) { return doubled(range.first, range); };
    return parse_sizes("--gbs", text, in_range, "its first number times powers of two");
}

}  // namespace foreshard
