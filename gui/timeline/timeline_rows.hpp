#pragma once

#include <QString>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "sim/result/run.hpp"

/// Which rows a timeline shows, from top to bottom, and how high each is.
namespace foreshard::gui {

/// single: the first run. stack: for each rank a row per run. diff: the second run with a strip that shows what is late
/// or early against the first, and a row of what only the first has, where there is such. overlay: the first run's
/// outlines over the second run's fill.
enum class TimelineMode : std::uint8_t { single, stack, diff, overlay };

enum class RowContent : std::uint8_t {
    spans,
    late_early,  ///< the strip below a diff's row
    only_first,  ///< of a diff: spans of the first run that the second lacks
};

struct TimelineRow {
    std::size_t run = 0;   ///< index of the run whose spans are drawn
    std::size_t row = 0;   ///< index into that run's SpanTable::rows
    std::size_t rank = 0;  ///< the first run's ranks in order, then those that only later runs have
    RowContent content = RowContent::spans;
    bool lane = false;                      ///< a thin row below its rank's compute row
    bool firstOfRank = false;               ///< carries the rank's name and the arrow that expands it
    std::optional<std::size_t> outlineRow;  ///< mode overlay: row of the first run whose spans are outlined here
    int top = 0;                            ///< pixels from the top of its block
    int height = 0;
    QString label;  ///< "PP0"; "B", "TP" and "p2p" of further rows
};

/// What the reader chose, and what follows from it.
struct RowChoice {
    TimelineMode mode = TimelineMode::single;
    std::set<std::size_t> expanded;          ///< ranks that show all their lanes
    std::set<std::size_t> pinned;            ///< ranks that stay at the top
    int rowHeight = 22;                      ///< of a compute row, pixels
    std::vector<std::size_t> onlyFirstRows;  ///< mode diff: the first run's rows with spans that the second lacks
};

/// Pinned ranks stand in a block of their own above the scrolled one.
struct RowLayout {
    std::vector<TimelineRow> pinned;
    std::vector<TimelineRow> scrolled;
    int pinnedHeight = 0;
    int scrolledHeight = 0;
};
RowLayout layoutRows(std::span<const Run* const> runs, const RowChoice& choice);

/// Number of ranks over all runs, as TimelineRow::rank counts them.
std::size_t rankCount(std::span<const Run* const> runs);

/// "A", "B", ... by which runs are told apart.
QString runLetter(std::size_t run);

}  // namespace foreshard::gui
