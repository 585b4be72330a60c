#pragma once

#include <QPainter>

#include "gui/timeline/timeline_frame.hpp"

/// What lies over the rows: light, selection, arrows, critical path, cursor and marks.
namespace foreshard::gui {

/// Light, critical path, selection and lines in one call, clipped to the rows.
void paintOverlays(QPainter& painter, const TimelineFrame& frame);

/// Outlines of the first run's spans over the second's (mode overlay), in rows where they fit: below the labels.
/// @param block the frame's pinned or other rows
void paintPredicted(QPainter& painter, const TimelineFrame& frame, const QRect& block);
/// False where outlines would be denser than one in eight pixels; the first run is then the upper part of the row.
bool outlinesFit(const TimelineFrame& frame, const TimelineRow& row);
/// The lit micro-batch on all ranks.
void paintLight(QPainter& painter, const TimelineFrame& frame);
void paintCriticalPath(QPainter& painter, const TimelineFrame& frame);
/// Box of the selected span with arrows from what it waited for and to what waits for it, or gap with its chain, or
/// area.
void paintSelection(QPainter& painter, const TimelineFrame& frame);
/// Lines at the cursor and the marks, with times between them.
void paintLines(QPainter& painter, const TimelineFrame& frame);

}  // namespace foreshard::gui
