#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Helpers for messages that name the nearest valid values.
namespace foreshard {

/// All positive divisors of n, ascending. Precondition: n >= 1.
std::vector<int> divisors(std::int64_t n);

/// "1, 2 or 4"; long lists are shortened in the middle.
std::string join(const std::vector<int>& values);

/// The multiples of `step` on either side of `value`: "48 or 56"; only the upper one when the lower is 0.
std::string nearest_multiples(std::int64_t value, std::int64_t step);

/// At most `most` candidates that are close to `text` by edit distance, the closest first.
std::vector<std::string> closest(std::string_view text, const std::vector<std::string>& candidates, std::size_t most);

/// The candidate closest to `text` by edit distance, or empty when none is close.
std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace foreshard
