#include "sim/spec/suggest.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace foreshard {

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
        }
    }
    return row.back();
}

}  // namespace

std::vector<int> divisors(std::int64_t n) {
    std::vector<int> low;
    std::vector<int> high;
    for (std::int64_t d = 1; d * d <= n; ++d) {
        if (n % d != 0) continue;
        low.push_back(static_cast<int>(d));
        if (d * d != n) high.push_back(static_cast<int>(n / d));
    }
    low.insert(low.end(), high.rbegin(), high.rend());
    return low;
}

std::string join(const std::vector<int>& values) {
    constexpr std::size_t shown = 12;
    std::string out;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values.size() > shown && i == shown - 2) {
            out += ", ...";
            i = values.size() - 1;
        }
        if (i > 0) out += i + 1 == values.size() ? " or " : ", ";
        out += std::to_string(values[i]);
    }
    return out;
}

std::string nearest_multiples(std::int64_t value, std::int64_t step) {
    const std::int64_t low = value / step * step;
    return low > 0 ? fmt::format("{} or {}", low, low + step) : fmt::format("{}", low + step);
}

std::vector<std::string> closest(std::string_view text, const std::vector<std::string>& candidates, std::size_t most) {
    const std::size_t limit = std::max<std::size_t>(2, text.size() / 3);
    std::vector<std::pair<std::size_t, std::string>> close;
    for (const std::string& candidate : candidates) {
        const std::size_t distance = edit_distance(text, candidate);
        if (distance <= limit) close.emplace_back(distance, candidate);
    }
    std::stable_sort(close.begin(), close.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> names;
    for (const auto& [distance, name] : close) {
        if (names.size() < most) names.push_back(name);
    }
    return names;
}

std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates) {
    const std::vector<std::string> close = closest(text, candidates, 1);
    return close.empty() ? "" : close.front();
}

}  // namespace foreshard
