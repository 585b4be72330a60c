#pragma once

#include <QString>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "sim/result/run.hpp"

/// Which rows a timeline shows, from top to bottom, and how high each is.
namespace foreshard::gui {

/// single: the first run. stack: for each rank a row per run. diff: the second run with a strip that shows what is late
/// or early against the first. overlay: the first run's outlines over the second run's fill.
enum class TimelineMode : std::uint8_t { single, stack, diff, overlay };

enum class RowContent : std::uint8_t {
    spans,
    late_early,  ///< the strip below a diff's row
};

struct TimelineRow {
    std::size_t run = 0;   ///< index of the run whose spans are drawn
    std::size_t row = 0;   ///< index into that run's SpanTable::rows
    std::size_t rank = 0;  ///< index into the first run's ranks; those of other runs that it lacks follow
    RowContent content = RowContent::spans;
    bool lane = false;         ///< a thin row below its rank's compute row
    bool firstOfRank = false;  ///< carries the rank's name and the arrow that expands it
    bool pinned = false;
    int top = 0;  ///< pixels from the top of all rows; of pinned rows: from the top of the pinned ones
    int height = 0;
    QString label;  ///< "PP0", "B", "TP", "p2p"
};

/// What the reader chose.
struct RowChoice {
    TimelineMode mode = TimelineMode::single;
    std::set<std::size_t> expanded;  ///< ranks that show all their lanes
    std::set<std::size_t> pinned;    ///< ranks that stay at the top
    int rowHeight = 22;              ///< of a compute row, pixels
};

/// Rows of all ranks, pinned ranks first; `top` runs anew behind them.
std::vector<TimelineRow> layoutRows(std::span<const Run* const> runs, const RowChoice& choice);

}  // namespace foreshard::gui
