#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "gui/timeline/timeline_scene.hpp"
#include "gui/view_state.hpp"

/// Where keys lead: from a selection to the next.
namespace foreshard::gui {

Selection spanSelection(std::size_t run, std::size_t span);
Selection gapSelection(std::size_t run, const Gap& gap);

/// The neighbour of the selected span or gap in its row; of nothing selected, the first span in view.
/// @param step 1 or -1
std::optional<Selection> neighbour(const TimelineScene& scene, const ViewState& state, int step);

/// What the selection waited for last, or the first that waits for it.
std::optional<Selection> dependency(TimelineScene& scene, const Selection& selection, int step);

/// The next smaller bubble (step 1) or the next larger (-1) than the selected gap; else the largest.
std::optional<Selection> bubble(const TimelineScene& scene, const Selection& selection, int step);

/// Begin and end on the axis; none of nothing selected.
struct AxisRange {
    Picoseconds begin = 0;
    Picoseconds end = 0;
};
std::optional<AxisRange> rangeOf(const TimelineScene& scene, const Selection& selection);

/// Row of the table that the selection lies in, of its run.
std::optional<std::size_t> tableRowOf(const TimelineScene& scene, const Selection& selection);

/// A line about what lies under the pointer, or is selected.
QString spanText(const ShownRun& shown, std::size_t span);

/// Totals of a selected area: time per kind, bubble and its share.
QString areaText(const ShownRun& shown, const Selection& area);

/// Spans of the selected row, or of those of the selected area that lie at least partly in it: a header, then a line
/// each of rank, lane, name, kind, stage, chunk, micro-batch, start and end and duration in microseconds.
QString rowsAsTsv(const TimelineScene& scene, const Selection& selection);

}  // namespace foreshard::gui
