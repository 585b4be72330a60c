#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace foreshard::runtime::cuda {

/// Tokens sorted by the row of a table that they take, so that a row's gradient is added up in one place, in the order
/// of tokens. Ids without a row are left out. As one array for one upload: rows, bounds, tokens.
struct TokenGroups {
    std::int64_t groups = 0;
    std::vector<std::int32_t> array;
    std::int64_t bounds_at() const { return groups; }
    std::int64_t tokens_at() const { return 2 * groups + 1; }
};

/// Row of a token is its id minus `first`.
TokenGroups group_tokens(std::span<const std::int32_t> ids, std::int32_t first, std::int64_t table_rows);

}  // namespace foreshard::runtime::cuda
