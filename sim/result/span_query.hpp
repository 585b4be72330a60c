#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/result/spans.hpp"

/// Questions that views, tables and texts ask of a SpanTable. Times are picoseconds; intervals are [begin, end).
namespace foreshard {

/// Spans [first, last) of the table.
struct SpanRange {
    std::size_t first = 0;
    std::size_t last = 0;
    bool empty() const { return first == last; }
    bool operator==(const SpanRange&) const = default;
};

/// Spans of a row that lie at least partly in [begin, end); those of no length count where they stand. O(log n).
SpanRange visible_spans(const SpanTable& spans, const SpanRow& row, Picoseconds begin, Picoseconds end);

/// The span of a row that runs at a time. O(log n).
std::optional<std::size_t> span_at(const SpanTable& spans, const SpanRow& row, Picoseconds time);

/// Index of the row that a span stands in. O(log n).
std::size_t row_of(const SpanTable& spans, std::size_t span);

/// The neighbours of a span in its row; nothing at the row's ends.
std::optional<std::size_t> previous_span(const SpanTable& spans, std::size_t span);
std::optional<std::size_t> next_span(const SpanTable& spans, std::size_t span);

/// Time in which nothing runs in a row. In a compute row it is a bubble.
struct Gap {
    std::size_t row = 0;
    Picoseconds begin = 0;
    Picoseconds end = 0;
    std::optional<std::size_t> before;  ///< the span that ends it to the left; none: nothing ran before
    std::optional<std::size_t> after;   ///< the span that waits; none: nothing runs any more
    Picoseconds length() const { return end - begin; }
    bool operator==(const Gap&) const = default;
};

/// The gap of a row at a time between SpanTable::begin and finish; nothing where a span runs, or outside. O(log n).
std::optional<Gap> gap_at(const SpanTable& spans, std::size_t row, Picoseconds time);

/// All gaps of a row in order of time; with all spans of the row they fill [SpanTable::begin, finish).
std::vector<Gap> row_gaps(const SpanTable& spans, std::size_t row);

/// Gaps of all first compute rows, longest first; equal ones by begin, then row.
std::vector<Gap> gaps_by_length(const SpanTable& spans);

/// What lies in an area of rows and time.
struct AreaTotals {
    std::array<Picoseconds, span_kind_count> time{};  ///< per SpanKind, summed over rows; spans are clipped to the area
    Picoseconds bubble = 0;                           ///< gaps of the area's first compute rows
    std::size_t spans = 0;                            ///< that lie at least partly in the area
    int compute_rows = 0;                             ///< rows that `bubble` is summed over
    bool operator==(const AreaTotals&) const = default;
};

/// Totals over rows [first_row, last_row] (both included) and [begin, end), exact. The time outside
/// [SpanTable::begin, finish) is no bubble. Of passes, the collectives inside them count in `time` twice when both rows
/// are in the area: once in the pass, once as themselves.
AreaTotals area_totals(const SpanTable& spans, std::size_t first_row, std::size_t last_row, Picoseconds begin,
                       Picoseconds end);

/// What a span waited for: of its inputs the one that ended last; of a receive its send. None for spans without inputs.
std::optional<std::size_t> cause_of(const SpanTable& spans, std::size_t span);

/// Why a gap is there, back in time: first the cause of the span behind the gap, then the cause of that, and so on to
/// the first one that was running when the gap began. Empty for a gap at the end of a row, or without known inputs.
std::vector<std::size_t> wait_chain(const SpanTable& spans, const Gap& gap);

/// One paragraph for people: how long the gap is, what it waits for, and why that came so late.
std::string gap_text(const SpanTable& spans, const Gap& gap);

/// The inputs of a span; empty when nothing is known.
std::vector<std::size_t> inputs_of(const SpanTable& spans, std::size_t span);

/// SpanTable::inputs the other way round: spans that wait for span i are users[first[i]] to users[first[i + 1] - 1].
struct SpanUsers {
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> users;
};
SpanUsers users_of(const SpanTable& spans);

/// Of a communication that several ranks took part in: the data moved in the shortest of their spans, the rest of the
/// longer ones was waiting for the last to come.
struct CommSplit {
    Picoseconds transfer = 0;
    Picoseconds wait = 0;  ///< before the transfer
    int participants = 1;
};

/// Per span, like SpanTable::start; spans of compute have no transfer. Where the partners are not known the whole span
/// is transfer and participants is 1.
std::vector<CommSplit> comm_splits(const SpanTable& spans);

}  // namespace foreshard
