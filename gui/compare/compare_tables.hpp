#pragma once

#include "gui/charts/table.hpp"
#include "sim/result/compare.hpp"

/// The tables of a comparison.
namespace foreshard::gui {

/// Settings that differ: name, A, B.
Table settingsTable(const Comparison& comparison);

/// Figures of the summary: A, B, difference, difference in percent; toned by what is better. Those that matter most
/// first.
Table figuresTable(const Run& a, const Run& b);

/// Spans without a partner on either side, joined by side, rank and kind; each row's first span can be shown.
struct UnmatchedGroup {
    std::size_t run = 0;  ///< 0: only in A
    int rank = 0;
    SpanKind kind = SpanKind::other;
    std::size_t first = 0;  ///< span
    std::size_t spans = 0;
    Picoseconds time = 0;
};
std::vector<UnmatchedGroup> unmatchedGroups(const Comparison& comparison, const Run& a, const Run& b);
Table unmatchedTable(const std::vector<UnmatchedGroup>& groups, const Run& a, const Run& b);

/// "98.3 % of the spans have a partner (1200 exact, 12 similar); 4 are only in A, 12 only in B".
QString matchSentence(const Comparison& comparison);

}  // namespace foreshard::gui
