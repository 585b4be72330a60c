#include "runtime/cuda/grouped_tokens.hpp"

#include <algorithm>

namespace foreshard::runtime::cuda {

TokenGroups group_tokens(std::span<const std::int32_t> ids, std::int32_t first, std::int64_t table_rows) {
    std::vector<std::int32_t> tokens;
    tokens.reserve(ids.size());
    const auto row_of = [&](std::int32_t token) { return ids[static_cast<std::size_t>(token)] - first; };
    for (std::int32_t token = 0; token < static_cast<std::int32_t>(ids.size()); ++token) {
        if (row_of(token) >= 0 && row_of(token) < table_rows) tokens.push_back(token);
    }
    std::stable_sort(tokens.begin(), tokens.end(),
                     [&](std::int32_t a, std::int32_t b) { return row_of(a) < row_of(b); });
    TokenGroups result;
    std::vector<std::int32_t> bounds;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (i > 0 && row_of(tokens[i]) == row_of(tokens[i - 1])) continue;
        result.array.push_back(row_of(tokens[i]));
        bounds.push_back(static_cast<std::int32_t>(i));
    }
    result.groups = static_cast<std::int64_t>(bounds.size());
    bounds.push_back(static_cast<std::int32_t>(tokens.size()));
    result.array.insert(result.array.end(), bounds.begin(), bounds.end());
    result.array.insert(result.array.end(), tokens.begin(), tokens.end());
    return result;
}

}  // namespace foreshard::runtime::cuda
