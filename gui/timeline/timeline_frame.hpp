#pragma once

#include <QRect>
#include <QRectF>
#include <optional>

#include "gui/time_axis.hpp"
#include "gui/timeline/timeline_scene.hpp"
#include "gui/view_state.hpp"

/// A scene on the screen: where its parts lie, and which span is where.
namespace foreshard::gui {

/// Sizes that follow the font.
struct TimelineMetrics {
    int gutter = 0;   ///< names of rows, left of the time axis
    int minimap = 0;  ///< heights
    int ruler = 0;
    int legend = 0;
    int text = 0;  ///< of a line
};
TimelineMetrics timelineMetrics();

struct TimelineFrame {
    const TimelineScene* scene = nullptr;
    const RowLayout* layout = nullptr;
    TimelineMetrics metrics;
    TimeAxis axis;  ///< pixel 0 is the left edge of `rows`
    int scroll = 0;
    QRect minimap;  ///< right of the gutter, like all that follow
    QRect ruler;
    QRect pinned;
    QRect rows;
    QRect legend;  ///< over the whole width
    QRect area;
    std::optional<Picoseconds> cursor;
    Selection selection;
    int litMicrobatch = -1;

    double x(Picoseconds axisTime) const { return rows.left() + axis.toPixel(axisTime); }
    double x(std::size_t run, Picoseconds runTime) const { return x(runTime + scene->runs[run].shift); }
    Picoseconds axisTime(double pixel) const { return axis.toTime(pixel - rows.left()); }
};

TimelineFrame makeFrame(const TimelineScene& scene, const RowLayout& layout, const ViewState& state, QRect area,
                        int scroll);

/// Pixels from the top of the area of a row that may be scrolled out of sight.
QRect rowRect(const TimelineFrame& frame, const TimelineRow& row, bool pinned);

/// A row that is shown, and where.
struct ShownRow {
    const TimelineRow* row = nullptr;
    QRect rect;
};
std::vector<ShownRow> visibleRows(const TimelineFrame& frame);
std::optional<ShownRow> rowAt(const TimelineFrame& frame, int y);

/// Where a span is drawn, also left or right of what is visible. A span in a lane that is folded away is placed in its
/// rank's first row; none when its rank is not shown, or in a diff when its partner of the second run is.
std::optional<QRectF> spanRect(const TimelineFrame& frame, std::size_t run, std::size_t span);
/// False for spans of lanes that are folded away.
bool hasOwnRow(const TimelineFrame& frame, std::size_t run, std::size_t span);
std::optional<ShownRow> rowOfTable(const TimelineFrame& frame, std::size_t run, std::size_t tableRow);

/// What lies under a point.
struct Hit {
    enum class Part { none, minimap, ruler, gutter, rows };
    Part part = Part::none;
    std::optional<ShownRow> row;
    Picoseconds time = 0;  ///< on the axis
    std::optional<std::size_t> span;
    std::optional<Gap> gap;  ///< in the time of the row's run
};
Hit hitTest(const TimelineFrame& frame, QPoint point);

}  // namespace foreshard::gui
