#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "sim/result/spans.hpp"

namespace foreshard {

/// A span before it has a row.
struct LooseSpan {
    Picoseconds start = 0;
    Picoseconds end = 0;
    std::int32_t rank = 0;  ///< index into SpanTable::ranks
    std::int32_t name = 0;  ///< index into SpanTable::names
    std::int32_t microbatch = -1;
    std::int32_t event = 0;  ///< number in the trace
    std::int32_t comm = -1;
    std::int16_t stage = -1;
    std::int16_t chunk = -1;
    std::int16_t step = 0;
    SpanLane lane = SpanLane::other;
    SpanKind kind = SpanKind::other;
};

/// Strings by number, each once.
class Names {
public:
    std::int32_t number_of(std::string_view name);
    const std::vector<std::string>& all() const { return names_; }

private:
    struct Hash {
        using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> numbers_;
    std::vector<std::string> names_;
};

/// What became of spans that would overlap.
struct RowCounts {
    std::size_t moved = 0;     ///< to further rows of their lane
    std::size_t left_out = 0;  ///< since more than `most_rows` overlap
};

/// More rows of one lane than anybody can look at; deeper ones are left out and counted.
inline constexpr std::size_t most_rows = 512;

/// Puts spans into rows: sorted by rank, lane and start (longer ones first), each in the first row that is free. Fills
/// rows and columns of the table, whose ranks are known; `comm` only when a span has one.
RowCounts fill_rows(std::vector<LooseSpan> spans, SpanTable& table);

}  // namespace foreshard
