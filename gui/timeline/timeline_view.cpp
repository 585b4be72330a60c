#include "gui/timeline/timeline_view.hpp"

#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QPaintEngine>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "gui/timeline/navigation.hpp"
#include "gui/timeline/overlays.hpp"
#include "gui/timeline/timeline_painter.hpp"

namespace foreshard::gui {

namespace {

constexpr int least_row = 8;
constexpr int most_row = 34;
constexpr int paper_scale = 3;  ///< pixels of rows per unit on paper, whose text stays text

}  // namespace

int fittingRowHeight(const std::vector<const Run*>& runs, RowChoice choice, int height, int least, int most) {
    for (choice.rowHeight = most; choice.rowHeight > least; --choice.rowHeight) {
        const RowLayout layout = layoutRows(runs, choice);
        if (layout.pinnedHeight + layout.scrolledHeight <= height) break;
    }
    return choice.rowHeight;
}

TimelineView::TimelineView(ViewState& state, QWidget* parent) : QAbstractScrollArea(parent), state_(state) {
    setFocusPolicy(Qt::StrongFocus);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName("Pipeline timeline");
    connect(&state_, &ViewState::visibleChanged, viewport(), qOverload<>(&QWidget::update));
    connect(&state_, &ViewState::cursorChanged, viewport(), qOverload<>(&QWidget::update));
    connect(&state_, &ViewState::selectionChanged, this, &TimelineView::onSelection);
    connect(&state_, &ViewState::lightChanged, this, &TimelineView::onLight);
}

QSize TimelineView::sizeHint() const {
    return {1000, 480};
}

void TimelineView::setRuns(const std::vector<const Run*>& runs) {
    const bool refit = scene_.runs.empty() || showsStep();
    setSceneRuns(scene_, runs, alignment_);
    const bool nothing = state_.end() <= scene_.first || state_.begin() >= scene_.last;
    if (!runs.empty() && (refit || nothing)) showRange(stepBegin(), stepEnd());
    sceneChanged();
    onSelection();
    onLight();
}

void TimelineView::setMode(TimelineMode mode) {
    if (mode == scene_.choice.mode) return;
    const bool refit = !scene_.runs.empty() && showsStep();
    setSceneMode(scene_, mode);
    if (refit) showRange(stepBegin(), stepEnd());
    sceneChanged();
    onLight();
    emit modeChanged();
}

void TimelineView::setAlignment(Alignment alignment) {
    if (alignment == alignment_) return;
    alignment_ = alignment;
    setRuns(scene_.runPointers());
}

void TimelineView::setTheme(ThemeKind kind) {
    scene_.themeKind = kind;
    sceneChanged();
}

/// All text is of the application's size, and so are the parts that hold it.
bool TimelineView::event(QEvent* event) {
    const bool handled = QAbstractScrollArea::event(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::ApplicationFontChange) {
        sceneChanged();
        emit gutterChanged(gutter());
    }
    return handled;
}

TimelineFrame TimelineView::frame() const {
    return makeFrame(scene_, layout_, state_, viewport()->rect(), verticalScrollBar()->value());
}

void TimelineView::sceneChanged() {
    relayout();
    updateMinimap();
    ground_.picture = QImage();
    viewport()->update();
}

void TimelineView::relayout() {
    const int room = viewport()->height() - heightAroundRows(timelineMetrics());
    const std::vector<const Run*> runs = scene_.runPointers();
    scene_.choice.rowHeight =
        wishedRowHeight_ > 0 ? wishedRowHeight_ : fittingRowHeight(runs, scene_.choice, room, least_row, most_row);
    layout_ = layoutRows(runs, scene_.choice);
    const int page = frame().rows.height();
    verticalScrollBar()->setPageStep(page);
    verticalScrollBar()->setSingleStep(scene_.choice.rowHeight);
    verticalScrollBar()->setRange(0, std::max(0, layout_.scrolledHeight - page));
}

void TimelineView::updateMinimap() {
    const double ratio = viewport()->devicePixelRatioF();
    minimap_ = minimapImage(scene_, (QSizeF(frame().minimap.size()) * ratio).toSize());
    minimap_.setDevicePixelRatio(ratio);
}

void TimelineView::updateGround(const TimelineFrame& frame) {
    const double ratio = viewport()->devicePixelRatioF();
    const QSize size = (QSizeF(viewport()->size()) * ratio).toSize();
    const bool kept = ground_.picture.size() == size && ground_.begin == frame.axis.begin &&
                      ground_.end == frame.axis.end && ground_.scroll == frame.scroll;
    if (kept) return;
    if (ground_.picture.size() != size) ground_.picture = QImage(size, QImage::Format_RGB32);
    ground_.picture.setDevicePixelRatio(ratio);
    ground_.begin = frame.axis.begin;
    ground_.end = frame.axis.end;
    ground_.scroll = frame.scroll;
    QPainter painter(&ground_.picture);
    paintTimelineGround(painter, frame, minimap_, cache_, ratio);
}

void TimelineView::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    if (scene_.runs.empty()) {
        paintEmptyTimeline(painter, scene_.theme(), viewport()->rect());
        return;
    }
    const TimelineFrame now = frame();
    updateGround(now);
    painter.drawImage(0, 0, ground_.picture);
    paintOverlays(painter, now);
    if (!hasFocus()) return;
    painter.setPen(scene_.theme().accent);
    painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
}

void TimelineView::paint(QPainter& painter, QRect area) const {
    if (scene_.runs.empty()) {
        paintEmptyTimeline(painter, scene_.theme(), area);
        return;
    }
    const int room = area.height() - heightAroundRows(timelineMetrics());
    RowChoice choice = scene_.choice;
    choice.rowHeight = fittingRowHeight(scene_.runPointers(), choice, room, 2, most_row);
    const RowLayout layout = layoutRows(scene_.runPointers(), choice);
    const bool raster = painter.paintEngine()->type() == QPaintEngine::Raster;
    const double scale = raster ? painter.device()->devicePixelRatioF() : paper_scale;
    TimelineFrame shown = makeFrame(scene_, layout, state_, area, 0);
    shown.cursor.reset();
    QImage minimap = minimapImage(scene_, (QSizeF(shown.minimap.size()) * scale).toSize());
    minimap.setDevicePixelRatio(scale);
    DrawingCache cache;
    paintTimeline(painter, shown, minimap, cache, scale);
}

void TimelineView::resizeEvent(QResizeEvent*) {
    sceneChanged();
}

Picoseconds TimelineView::stepBegin() const {
    Picoseconds begin = scene_.last;
    for (std::size_t i = 0; i < scene_.shownRuns(); ++i) {
        begin = std::min(begin, scene_.runs[i].spans().window_begin + scene_.runs[i].shift);
    }
    return std::clamp(begin, scene_.first, scene_.last);
}

Picoseconds TimelineView::stepEnd() const {
    Picoseconds end = scene_.first;
    for (std::size_t i = 0; i < scene_.shownRuns(); ++i) {
        end = std::max(end, scene_.runs[i].spans().window_end + scene_.runs[i].shift);
    }
    // A run without a known window is shown whole.
    return end > stepBegin() ? std::min(end, scene_.last) : scene_.last;
}

bool TimelineView::showsStep() const {
    return state_.begin() == stepBegin() && state_.end() == stepEnd();
}

void TimelineView::showRange(Picoseconds begin, Picoseconds end) {
    state_.setVisible(begin, std::max(end, begin + 1));
}

void TimelineView::zoomAt(double factor, double pixel) {
    if (scene_.runs.empty()) return;
    const TimelineFrame now = frame();
    const TimeAxis axis = zoomed(now.axis, factor, pixel - now.rows.left(), scene_.first, scene_.last);
    showRange(axis.begin, axis.end);
}

void TimelineView::zoomBy(double factor) {
    const TimelineFrame now = frame();
    const bool seen = now.cursor && *now.cursor >= now.axis.begin && *now.cursor <= now.axis.end;
    zoomAt(factor, seen ? now.x(*now.cursor) : now.rows.left() + now.axis.width / 2);
}

void TimelineView::panBy(double shareOfWidth) {
    if (scene_.runs.empty()) return;
    const TimelineFrame now = frame();
    const TimeAxis axis = panned(now.axis, shareOfWidth * now.axis.width, scene_.first, scene_.last);
    showRange(axis.begin, axis.end);
}

void TimelineView::fitSelection() {
    if (scene_.runs.empty()) return;
    const auto range = rangeOf(scene_, state_.selection());
    if (!range || range->end <= range->begin) {
        showRange(stepBegin(), stepEnd());
        return;
    }
    // A twentieth on each side shows what is next to it.
    const Picoseconds margin = std::max<Picoseconds>(1000, (range->end - range->begin) / 20);
    showRange(std::max(scene_.first, range->begin - margin), std::min(scene_.last, range->end + margin));
}

void TimelineView::showAll() {
    if (!scene_.runs.empty()) showRange(scene_.first, scene_.last);
}

std::optional<Selection> TimelineView::neighbour(int step) const {
    return gui::neighbour(scene_, state_, step);
}

std::optional<Selection> TimelineView::alongDependency(int step) {
    return dependency(scene_, state_.selection(), step);
}

std::optional<Selection> TimelineView::otherBubble(int step) const {
    return bubble(scene_, state_.selection(), step);
}

/// What the next row shows at the middle of the selection.
std::optional<Selection> TimelineView::otherRow(int step) const {
    const auto range = rangeOf(scene_, state_.selection());
    const auto tableRow = tableRowOf(scene_, state_.selection());
    if (!range || !tableRow) return neighbour(step);
    std::vector<const TimelineRow*> rows;
    for (const auto* block : {&layout_.pinned, &layout_.scrolled}) {
        for (const TimelineRow& row : *block) {
            if (row.content == RowContent::spans) rows.push_back(&row);
        }
    }
    const auto mine = std::find_if(rows.begin(), rows.end(), [&](const TimelineRow* row) {
        return row->run == state_.selection().run && row->row == *tableRow;
    });
    const std::ptrdiff_t place = (mine - rows.begin()) + step;
    if (mine == rows.end() || place < 0 || place >= static_cast<std::ptrdiff_t>(rows.size())) return std::nullopt;
    const TimelineRow& row = *rows[static_cast<std::size_t>(place)];
    const SpanTable& spans = scene_.runs[row.run].spans();
    const Picoseconds time = range->begin + (range->end - range->begin) / 2 - scene_.runs[row.run].shift;
    if (const auto span = span_at(spans, spans.rows[row.row], time)) return spanSelection(row.run, *span);
    if (const auto gap = gap_at(spans, row.row, time)) return gapSelection(row.run, *gap);
    return std::nullopt;
}

void TimelineView::go(const std::optional<Selection>& selection) {
    if (!selection) return;
    state_.select(*selection);
    bringIntoView(*selection);
    if (selection->kind == Selection::Kind::span) emit spanSelected(selection->run, selection->span);
}

void TimelineView::bringIntoView(const Selection& selection) {
    const auto range = rangeOf(scene_, selection);
    const auto tableRow = tableRowOf(scene_, selection);
    if (!range || !tableRow) return;
    if (range->begin < state_.begin() || range->end > state_.end()) {
        const Picoseconds length = std::max(state_.end() - state_.begin(), 2 * (range->end - range->begin));
        const Picoseconds middle = range->begin + (range->end - range->begin) / 2;
        const Picoseconds begin =
            std::clamp(middle - length / 2, scene_.first, std::max(scene_.first, scene_.last - length));
        showRange(begin, std::min(scene_.last, begin + length));
    }
    const auto row = rowOfTable(frame(), selection.run, *tableRow);
    if (!row || scene_.choice.pinned.contains(row->row->rank)) return;
    const int top = row->row->top;
    const int page = frame().rows.height();
    if (top < verticalScrollBar()->value()) verticalScrollBar()->setValue(top);
    const int below = top + row->row->height - page;
    if (below > verticalScrollBar()->value()) verticalScrollBar()->setValue(below);
}

void TimelineView::revealSpan(std::size_t run, std::size_t span) {
    if (run < scene_.runs.size() && span < scene_.runs[run].spans().size()) go(spanSelection(run, span));
}

void TimelineView::onSelection() {
    const Selection& selection = state_.selection();
    scene_.chain.clear();
    viewport()->update();
    if (selection.run >= scene_.runs.size()) return;
    ShownRun& shown = scene_.runs[selection.run];
    QString text;
    if (selection.kind == Selection::Kind::gap && selection.row < shown.spans().rows.size()) {
        if (const auto gap = gap_at(shown.spans(), selection.row, selection.begin)) {
            scene_.chain = wait_chain(shown.spans(), *gap);
            text = QString::fromStdString(gap_text(shown.spans(), *gap));
            emit gapSelected(text);
        }
    } else if (selection.kind == Selection::Kind::area && selection.lastRow < shown.spans().rows.size()) {
        text = areaText(shown, selection);
        emit areaSelected(text);
    } else if (selection.kind == Selection::Kind::span && selection.span < shown.spans().size()) {
        if (!shown.users) shown.users = users_of(shown.spans());
        text = spanText(shown, selection.span);
    }
    setAccessibleDescription(text);
    QAccessibleEvent event(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&event);
}

void TimelineView::onLight() {
    if (state_.litMicrobatch() >= 0) {
        for (std::size_t run = 0; run < scene_.shownRuns(); ++run) {
            ShownRun& shown = scene_.runs[run];
            if (!shown.microbatches) shown.microbatches = microbatchIndex(shown.spans());
        }
    }
    viewport()->update();
}

}  // namespace foreshard::gui
