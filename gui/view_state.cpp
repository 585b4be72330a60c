#include "gui/view_state.hpp"

namespace foreshard::gui {

void ViewState::setVisible(Picoseconds begin, Picoseconds end) {
    if (begin == begin_ && end == end_) return;
    begin_ = begin;
    end_ = end;
    emit visibleChanged();
}

void ViewState::setCursor(std::optional<Picoseconds> time) {
    if (time == cursor_) return;
    cursor_ = time;
    emit cursorChanged();
}

void ViewState::select(const Selection& selection) {
    if (selection == selection_) return;
    selection_ = selection;
    emit selectionChanged();
}

void ViewState::lightMicrobatch(int microbatch) {
    if (microbatch == litMicrobatch_) return;
    litMicrobatch_ = microbatch;
    emit lightChanged();
}

}  // namespace foreshard::gui
