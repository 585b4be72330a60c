// Keys and mouse of a TimelineView.
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/timeline/navigation.hpp"
#include "gui/timeline/rows_painter.hpp"
#include "gui/timeline/timeline_view.hpp"

namespace foreshard::gui {

namespace {

constexpr int drag_distance = 4;  ///< pixels: less is a click
constexpr double wheel_notch = 120.0;

struct KeyAction {
    int key;
    Qt::KeyboardModifiers modifiers;
    void (TimelineView::*action)();
};

// Keys on their own place (Qt::Key) are compared with Shift, characters that need Shift on some keyboards without.
const KeyAction key_actions[] = {
    {Qt::Key_W, Qt::NoModifier, &TimelineView::zoomIn},
    {Qt::Key_S, Qt::NoModifier, &TimelineView::zoomOut},
    {Qt::Key_A, Qt::NoModifier, &TimelineView::panLeft},
    {Qt::Key_Left, Qt::NoModifier, &TimelineView::panLeft},
    {Qt::Key_D, Qt::NoModifier, &TimelineView::panRight},
    {Qt::Key_Right, Qt::NoModifier, &TimelineView::panRight},
    {Qt::Key_F, Qt::NoModifier, &TimelineView::fitSelection},
    {Qt::Key_0, Qt::NoModifier, &TimelineView::showAll},
    {Qt::Key_Period, Qt::NoModifier, &TimelineView::selectNext},
    {Qt::Key_Comma, Qt::NoModifier, &TimelineView::selectPrevious},
    {Qt::Key_Down, Qt::NoModifier, &TimelineView::selectRowBelow},
    {Qt::Key_Up, Qt::NoModifier, &TimelineView::selectRowAbove},
    {Qt::Key_BracketLeft, Qt::NoModifier, &TimelineView::followInput},
    {Qt::Key_BracketRight, Qt::NoModifier, &TimelineView::followOutput},
    {Qt::Key_B, Qt::NoModifier, &TimelineView::selectNextBubble},
    {Qt::Key_B, Qt::ShiftModifier, &TimelineView::selectPreviousBubble},
    {Qt::Key_C, Qt::NoModifier, &TimelineView::toggleCriticalPath},
    {Qt::Key_C, Qt::ControlModifier, &TimelineView::copyRows},
    {Qt::Key_M, Qt::NoModifier, &TimelineView::toggleMark},
    {Qt::Key_P, Qt::NoModifier, &TimelineView::togglePin},
    {Qt::Key_E, Qt::NoModifier, &TimelineView::toggleExpanded},
    {Qt::Key_E, Qt::ShiftModifier, &TimelineView::toggleAllExpanded},
    {Qt::Key_Plus, Qt::NoModifier, &TimelineView::higherRows},
    {Qt::Key_Minus, Qt::NoModifier, &TimelineView::lowerRows},
    {Qt::Key_Return, Qt::NoModifier, &TimelineView::activateSelection},
    {Qt::Key_Enter, Qt::NoModifier, &TimelineView::activateSelection},
    {Qt::Key_Escape, Qt::NoModifier, &TimelineView::clear},
};

std::optional<TimelineMode> modeOfKey(const QKeyEvent& event) {
    if (event.modifiers() != Qt::NoModifier || event.key() < Qt::Key_1 || event.key() > Qt::Key_4) return std::nullopt;
    return static_cast<TimelineMode>(event.key() - Qt::Key_1);
}

bool isLetter(int key) {
    return key >= Qt::Key_A && key <= Qt::Key_Z;
}

}  // namespace

void TimelineView::keyPressEvent(QKeyEvent* event) {
    Qt::KeyboardModifiers modifiers = event->modifiers() & ~Qt::KeypadModifier;
    if (!isLetter(event->key())) modifiers &= ~Qt::ShiftModifier;
    for (const KeyAction& known : key_actions) {
        if (known.key != event->key() || known.modifiers != modifiers) continue;
        (this->*known.action)();
        event->accept();
        return;
    }
    if (const auto mode = modeOfKey(*event)) {
        setMode(*mode);
    } else {
        QAbstractScrollArea::keyPressEvent(event);
    }
}

void TimelineView::wheelEvent(QWheelEvent* event) {
    const QPointF notches = QPointF(event->angleDelta()) / wheel_notch;
    if (event->modifiers() & Qt::ControlModifier) {
        zoomAt(std::pow(0.8, notches.y()), event->position().x());
    } else if (event->modifiers() & Qt::ShiftModifier) {
        panBy(-0.1 * (notches.y() + notches.x()));
    } else {
        panBy(-0.1 * notches.x());
        verticalScrollBar()->setValue(verticalScrollBar()->value() -
                                      static_cast<int>(notches.y() * 3 * verticalScrollBar()->singleStep()));
    }
    event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
    if (scene_.runs.empty()) return;
    dragStart_ = event->position().toPoint();
    dragAxis_ = frame().axis;
    dragScroll_ = verticalScrollBar()->value();
    const bool pans = event->button() == Qt::MiddleButton || (event->modifiers() & Qt::ShiftModifier);
    const Hit hit = hitTest(frame(), dragStart_);
    if (hit.part == Hit::Part::minimap) {
        pressMinimap(dragStart_);
    } else {
        drag_ = pans ? Drag::pan : Drag::click;
    }
}

void TimelineView::pressMinimap(QPoint point) {
    const TimelineFrame now = frame();
    switch (minimapGrip(now, point)) {
        case MinimapGrip::left:
            drag_ = Drag::minimap_left;
            return;
        case MinimapGrip::right:
            drag_ = Drag::minimap_right;
            return;
        default:
            drag_ = Drag::minimap_window;
    }
    // A press outside the window brings it there.
    const Picoseconds time = minimapAxis(now).toTime(point.x() - now.minimap.left());
    if (time >= now.axis.begin && time < now.axis.end) return;
    const Picoseconds length = now.axis.end - now.axis.begin;
    const Picoseconds begin = std::clamp(time - length / 2, scene_.first, std::max(scene_.first, scene_.last - length));
    showRange(begin, begin + length);
    dragAxis_ = frame().axis;
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
    pointer_ = event->position().toPoint();
    if (scene_.runs.empty()) return;
    if (drag_ == Drag::none) {
        hover(*pointer_);
    } else {
        dragTo(*pointer_);
    }
}

void TimelineView::dragTo(QPoint point) {
    const QPoint moved = point - dragStart_;
    switch (drag_) {
        case Drag::none:
            return;
        case Drag::click:
            if (moved.manhattanLength() < drag_distance) return;
            drag_ = hitTest(frame(), dragStart_).part == Hit::Part::rows ? Drag::area : Drag::pan;
            dragTo(point);
            return;
        case Drag::area:
            selectAreaTo(point);
            return;
        case Drag::pan: {
            const TimeAxis axis = panned(dragAxis_, -moved.x(), scene_.first, scene_.last);
            showRange(axis.begin, axis.end);
            verticalScrollBar()->setValue(dragScroll_ - moved.y());
            return;
        }
        case Drag::minimap_window:
        case Drag::minimap_left:
        case Drag::minimap_right:
            dragMinimap(point);
    }
}

void TimelineView::dragMinimap(QPoint point) {
    const TimelineFrame now = frame();
    const TimeAxis whole = minimapAxis(now);
    const Picoseconds least = 10'000;
    const Picoseconds time = std::clamp(whole.toTime(point.x() - now.minimap.left()), scene_.first, scene_.last);
    if (drag_ == Drag::minimap_left) {
        showRange(std::min(time, state_.end() - least), state_.end());
    } else if (drag_ == Drag::minimap_right) {
        showRange(state_.begin(), std::max(time, state_.begin() + least));
    } else {
        const double scale = whole.pixelsPerPicosecond() / dragAxis_.pixelsPerPicosecond();
        const TimeAxis axis = panned(dragAxis_, (point.x() - dragStart_.x()) / scale, scene_.first, scene_.last);
        showRange(axis.begin, axis.end);
    }
}

/// Rows of the run under the press, from there to the pointer. A folded rank counts with all its lanes.
void TimelineView::selectAreaTo(QPoint point) {
    const TimelineFrame now = frame();
    const auto from = rowAt(now, dragStart_.y());
    const auto to = rowAt(now, std::clamp(point.y(), now.pinned.top(), now.rows.bottom()));
    if (!from || !to || from->row->run != to->row->run || from->row->content == RowContent::only_first) return;
    const ShownRun& shown = scene_.runs[from->row->run];
    Selection area;
    area.kind = Selection::Kind::area;
    area.run = from->row->run;
    area.row = std::min(from->row->row, to->row->row);
    area.lastRow = std::max(from->row->row, to->row->row);
    const auto& rows = shown.spans().rows;
    const TimelineRow& lower = from->row->row > to->row->row ? *from->row : *to->row;
    const bool folded = !scene_.choice.expanded.contains(lower.rank);
    while (folded && area.lastRow + 1 < rows.size() && rows[area.lastRow + 1].rank == rows[area.lastRow].rank)
        ++area.lastRow;
    const Picoseconds start = now.axisTime(dragStart_.x()) - shown.shift;
    const Picoseconds end = now.axisTime(point.x()) - shown.shift;
    area.begin = std::min(start, end);
    area.end = std::max({start, end, area.begin + 1});
    state_.select(area);
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
    const Drag ended = drag_;
    drag_ = Drag::none;
    if (ended == Drag::click) click(event->position().toPoint());
}

void TimelineView::click(QPoint point) {
    const Hit hit = hitTest(frame(), point);
    if (hit.part == Hit::Part::gutter && hit.row) {
        std::set<std::size_t>& expanded = scene_.choice.expanded;
        if (expanded.erase(hit.row->row->rank) == 0) expanded.insert(hit.row->row->rank);
        sceneChanged();
    } else if (hit.span) {
        state_.select(spanSelection(hit.row->row->run, *hit.span));
        emit spanSelected(hit.row->row->run, *hit.span);
    } else if (hit.gap) {
        state_.select(gapSelection(hit.row->row->run, *hit.gap));
    } else {
        state_.select({});
    }
}

/// Zooms to what lies there; in the minimap, to the step.
void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
    drag_ = Drag::none;
    const Hit hit = hitTest(frame(), event->position().toPoint());
    if (hit.part == Hit::Part::minimap || hit.part == Hit::Part::ruler) {
        showRange(stepBegin(), stepEnd());
    } else if (hit.span) {
        state_.select(spanSelection(hit.row->row->run, *hit.span));
        fitSelection();
        emit spanActivated(hit.row->row->run, *hit.span);
    } else if (hit.gap) {
        state_.select(gapSelection(hit.row->row->run, *hit.gap));
        fitSelection();
    }
}

void TimelineView::hover(QPoint point) {
    const Hit hit = hitTest(frame(), point);
    if (hit.part == Hit::Part::minimap) {
        const MinimapGrip grip = minimapGrip(frame(), point);
        viewport()->setCursor(grip == MinimapGrip::window ? Qt::OpenHandCursor : Qt::SizeHorCursor);
    } else {
        viewport()->unsetCursor();
    }
    const bool onAxis = hit.part == Hit::Part::rows || hit.part == Hit::Part::ruler;
    state_.setCursor(onAxis ? std::optional(hit.time) : std::nullopt);
    state_.lightMicrobatch(hit.span ? scene_.runs[hit.row->row->run].spans().microbatch[*hit.span] : -1);
    emit hovered(tipAt(point));
}

QString TimelineView::tipAt(QPoint point) const {
    const Hit hit = hitTest(frame(), point);
    if (!hit.row) return {};
    const ShownRun& shown = scene_.runs[hit.row->row->run];
    if (hit.span) {
        QString text = spanText(shown, *hit.span);
        if (hit.row->row->content == RowContent::only_first) return text + " · only in A";
        if (!scene_.lateness || hit.row->row->run != 1) return text;
        if (scene_.lateness->matched[*hit.span] == 0) return text + " · only in B";
        const Picoseconds late = scene_.lateness->late[*hit.span];
        return text + QString(" · %1 %2 than A").arg(timeText(std::abs(late)), late >= 0 ? "later" : "earlier");
    }
    if (hit.gap) return QString::fromStdString(gap_text(shown.spans(), *hit.gap));
    return {};
}

void TimelineView::leave() {
    pointer_.reset();
    state_.setCursor(std::nullopt);
    state_.lightMicrobatch(-1);
    emit hovered({});
}

bool TimelineView::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QString text = scene_.runs.empty() ? QString() : tipAt(help->pos());
        QToolTip::showText(help->globalPos(), text, viewport());
        return true;
    }
    if (event->type() == QEvent::Leave) leave();
    return QAbstractScrollArea::viewportEvent(event);
}

void TimelineView::focusInEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusInEvent(event);
    viewport()->update();
}

void TimelineView::focusOutEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusOutEvent(event);
    viewport()->update();
}

}  // namespace foreshard::gui
