#include "gui/memory/memory_view.hpp"

#include <QApplication>
#include <QClipboard>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

#include "gui/memory/memory_head.hpp"
#include "gui/memory/memory_maximum.hpp"
#include "gui/memory/memory_painter.hpp"

namespace foreshard::gui {

namespace {

constexpr double zoom_step = 0.8;
constexpr double pan_step = 80.0;

}  // namespace

MemoryView::MemoryView(ViewState& state, QWidget* parent) : QAbstractScrollArea(parent), state_(state) {
    setAccessibleName("Memory of every rank over time");
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    for (const auto signal : {&ViewState::visibleChanged, &ViewState::cursorChanged}) {
        connect(&state_, signal, this, [this] { viewport()->update(); });
    }
}

void MemoryView::setRuns(std::vector<const Run*> runs) {
    runs_ = std::move(runs);
    const int ranks = runs_.empty() ? 0 : static_cast<int>(runs_.front()->memory.size());
    if (chosen_ >= ranks) chosen_ = -1;
    if (!runs_.empty()) {
        const SpanTable& spans = runs_.front()->spans;
        const bool nothing =
            state_.end() <= spans.begin || state_.begin() >= spans.finish || state_.end() < state_.begin() + 2;
        if (nothing && spans.finish > spans.begin) state_.setVisible(spans.begin, spans.finish);
    }
    describe();
    updateScrollBar();
    viewport()->update();
}

void MemoryView::setTheme(ThemeKind kind) {
    theme_ = kind;
    viewport()->update();
}

void MemoryView::setGutter(int pixels) {
    gutter_ = pixels;
    viewport()->update();
}

void MemoryView::chooseRank(int rank) {
    if (runs_.empty() || rank == chosen_) return;
    chosen_ = std::clamp(rank, -1, static_cast<int>(runs_.front()->memory.size()) - 1);
    describe();
    updateScrollBar();
    viewport()->update();
    emit rankChosen(chosen_);
}

/// For readers that do not see the picture.
void MemoryView::describe() {
    if (!hasMemory()) return setAccessibleDescription("No memory to show");
    const int rank = describedRank();
    setAccessibleDescription(peakSentence(*runs_.front(), rank));
}

int MemoryView::describedRank() const {
    return chosen_ < 0 ? worstRank(*runs_.front()) : chosen_;
}

/// In the lane of the maximum the one that is largest there; -1 above the lanes.
int MemoryView::rankAt(const QPointF& place) const {
    const MemoryLayout now = layout();
    if (now.maximum.contains(place.toPoint())) {
        return largestAt(*runs_.front(), now.axis.toTime(place.x() - now.lanes.left() - now.gutter)).rank;
    }
    if (place.y() < now.lanes.top()) return -1;
    const int y = static_cast<int>(place.y()) - now.lanes.top() + verticalScrollBar()->value();
    return std::min(y / now.laneHeight, now.laneCount - 1);
}

bool MemoryView::viewportEvent(QEvent* event) {
    if (event->type() != QEvent::ToolTip || !hasMemory()) return QAbstractScrollArea::viewportEvent(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const int rank = rankAt(help->pos());
    const std::string text = peakListing(*runs_.front(), rank < 0 ? describedRank() : rank);
    QToolTip::showText(help->globalPos(), QString::fromStdString(text), viewport());
    return true;
}

bool MemoryView::hasMemory() const {
    return !runs_.empty() && !runs_.front()->memory.empty();
}

MemoryScene MemoryView::scene() const {
    return {runs_, theme_, state_.begin(), state_.end(), state_.cursor(), chosen_, gutter_};
}

MemoryLayout MemoryView::layout() const {
    return layoutMemory(*viewport(), viewport()->rect(), scene(), LaneFit::readable);
}

void MemoryView::paint(QPainter& painter, const QRect& area) const {
    paintMemory(painter, area, scene(), LaneFit::all, 0);
}

void MemoryView::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    paintMemory(painter, viewport()->rect(), scene(), LaneFit::readable, verticalScrollBar()->value());
}

void MemoryView::resizeEvent(QResizeEvent*) {
    updateScrollBar();
}

void MemoryView::updateScrollBar() {
    if (!hasMemory()) return verticalScrollBar()->setRange(0, 0);
    const MemoryLayout now = layout();
    verticalScrollBar()->setRange(0, std::max(0, now.laneHeight * now.laneCount - now.lanes.height()));
    verticalScrollBar()->setPageStep(now.lanes.height());
    verticalScrollBar()->setSingleStep(now.laneHeight / 2);
}

void MemoryView::mouseMoveEvent(QMouseEvent* event) {
    if (!hasMemory()) return;
    const MemoryLayout now = layout();
    const double pixel = event->position().x() - now.lanes.left() - now.gutter;
    state_.setCursor(pixel >= 0 ? std::optional(now.axis.toTime(pixel)) : std::nullopt);
}

void MemoryView::mousePressEvent(QMouseEvent* event) {
    if (!hasMemory()) return;
    const int rank = rankAt(event->position());
    if (rank >= 0) chooseRank(rank);
}

void MemoryView::leaveEvent(QEvent*) {
    state_.setCursor(std::nullopt);
}

void MemoryView::wheelEvent(QWheelEvent* event) {
    if ((event->modifiers() & Qt::ControlModifier) == 0 || !hasMemory()) return QAbstractScrollArea::wheelEvent(event);
    const MemoryLayout now = layout();
    zoom(event->angleDelta().y() > 0 ? zoom_step : 1.0 / zoom_step,
         event->position().x() - now.lanes.left() - now.gutter);
}

void MemoryView::zoom(double factor, double pixel) {
    const SpanTable& spans = runs_.front()->spans;
    const TimeAxis axis = zoomed(layout().axis, factor, pixel, spans.begin, spans.finish);
    state_.setVisible(axis.begin, axis.end);
}

void MemoryView::pan(double pixels) {
    const SpanTable& spans = runs_.front()->spans;
    const TimeAxis axis = panned(layout().axis, pixels, spans.begin, spans.finish);
    state_.setVisible(axis.begin, axis.end);
}

void MemoryView::goToPeak() {
    const int rank = describedRank();
    const Picoseconds peak = runs_.front()->memory[static_cast<std::size_t>(rank)].peak_time;
    if (peak < state_.begin() || peak > state_.end()) {
        const Picoseconds half = (state_.end() - state_.begin()) / 2;
        state_.setVisible(peak - half, peak + half);
    }
    state_.setCursor(peak);
}

double MemoryView::cursorPixel() const {
    const TimeAxis axis = layout().axis;
    return state_.cursor() ? axis.toPixel(*state_.cursor()) : axis.width / 2;
}

void MemoryView::keyPressEvent(QKeyEvent* event) {
    if (hasMemory() && event->matches(QKeySequence::Copy)) {
        return QApplication::clipboard()->setText(QString::fromStdString(peakListing(*runs_.front(), describedRank())));
    }
    if (!hasMemory() || (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier)) != 0) {
        return QAbstractScrollArea::keyPressEvent(event);
    }
    const int rank = describedRank();
    switch (event->key()) {
        case Qt::Key_Up:
            return chooseRank(std::max(0, rank - 1));
        case Qt::Key_Down:
            return chooseRank(rank + 1);
        case Qt::Key_Return:
        case Qt::Key_Enter:
            return goToPeak();
        case Qt::Key_W:
            return zoom(zoom_step, cursorPixel());
        case Qt::Key_S:
            return zoom(1.0 / zoom_step, cursorPixel());
        case Qt::Key_A:
            return pan(-pan_step);
        case Qt::Key_D:
            return pan(pan_step);
        default:
            QAbstractScrollArea::keyPressEvent(event);
    }
}

}  // namespace foreshard::gui
