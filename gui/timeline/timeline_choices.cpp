// What the reader switches on and off in a TimelineView: pins, lanes, marks, critical path, height of rows.
#include <QApplication>
#include <QClipboard>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/timeline/navigation.hpp"
#include "gui/timeline/timeline_view.hpp"

namespace foreshard::gui {

namespace {

constexpr int near_mark = 4;  ///< pixels

void toggle(std::set<std::size_t>& set, std::size_t value) {
    if (set.erase(value) == 0) set.insert(value);
}

}  // namespace

/// Of the selection; without one, of the row under the pointer, else the first.
std::size_t TimelineView::selectedRank() const {
    const TimelineFrame now = frame();
    if (const auto tableRow = tableRowOf(scene_, state_.selection())) {
        if (const auto row = rowOfTable(now, state_.selection().run, *tableRow)) return row->row->rank;
    }
    if (pointer_) {
        if (const auto row = rowAt(now, pointer_->y())) return row->row->rank;
    }
    return 0;
}

void TimelineView::toggleCriticalPath() {
    scene_.criticalPath = !scene_.criticalPath;
    viewport()->update();
}

void TimelineView::toggleMark() {
    if (!state_.cursor()) return;
    const auto reach = static_cast<Picoseconds>(near_mark / frame().axis.pixelsPerPicosecond());
    const auto near = std::find_if(scene_.marks.begin(), scene_.marks.end(),
                                   [&](Picoseconds mark) { return std::abs(mark - *state_.cursor()) <= reach; });
    if (near != scene_.marks.end()) {
        scene_.marks.erase(near);
    } else {
        scene_.marks.push_back(*state_.cursor());
        std::sort(scene_.marks.begin(), scene_.marks.end());
    }
    viewport()->update();
    emit marksChanged();
}

void TimelineView::setMarks(std::vector<Picoseconds> marks) {
    scene_.marks = std::move(marks);
    std::sort(scene_.marks.begin(), scene_.marks.end());
    viewport()->update();
    emit marksChanged();
}

void TimelineView::setRanks(std::set<std::size_t> pinned, std::set<std::size_t> expanded) {
    scene_.choice.pinned = std::move(pinned);
    scene_.choice.expanded = std::move(expanded);
    sceneChanged();
}

void TimelineView::togglePin() {
    toggle(scene_.choice.pinned, selectedRank());
    sceneChanged();
}

void TimelineView::toggleExpanded() {
    toggle(scene_.choice.expanded, selectedRank());
    sceneChanged();
}

void TimelineView::toggleAllExpanded() {
    const std::size_t ranks = rankCount(scene_.runPointers());
    const bool all = scene_.choice.expanded.size() == ranks;
    scene_.choice.expanded.clear();
    for (std::size_t rank = 0; rank < ranks && !all; ++rank) scene_.choice.expanded.insert(rank);
    sceneChanged();
}

void TimelineView::changeRowHeight(int pixels) {
    wishedRowHeight_ = std::clamp(scene_.choice.rowHeight + pixels, 4, 80);
    sceneChanged();
}

void TimelineView::clear() {
    if (state_.selection().kind != Selection::Kind::none) {
        state_.select({});
        state_.lightMicrobatch(-1);
        return;
    }
    scene_.criticalPath = false;
    scene_.marks.clear();
    viewport()->update();
    emit marksChanged();
}

void TimelineView::copyRows() {
    const QString text = rowsAsTsv(scene_, state_.selection());
    if (!text.isEmpty()) QApplication::clipboard()->setText(text);
}

void TimelineView::activateSelection() {
    const Selection& selection = state_.selection();
    if (selection.kind == Selection::Kind::span) emit spanActivated(selection.run, selection.span);
}

}  // namespace foreshard::gui
