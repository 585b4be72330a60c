#pragma once

#include <QAbstractScrollArea>
#include <memory>
#include <optional>
#include <vector>

#include "gui/theme.hpp"
#include "gui/timeline/label_atlas.hpp"
#include "gui/timeline/minimap.hpp"
#include "gui/timeline/timeline_frame.hpp"
#include "gui/timeline/timeline_scene.hpp"
#include "gui/view_state.hpp"

/// The pipeline's timeline: minimap, ruler and a row per rank, drawn by hand so that millions of spans stay fluent.
namespace foreshard::gui {

/// Times on the axis are those of the first run; the others are shifted so that their steps start (or end) together.
///
/// Keys: W S zoom at the cursor, A D and arrows pan, F fits the selection or the step, 0 the whole run, . , next and
/// previous span in the row, Up Down the row above and below, [ ] along dependencies, B Shift+B bubbles by length, C
/// critical path, M mark, P pin, E Shift+E lanes, + - row height, 1 to 4 modes, Ctrl+C copies, Enter opens, Esc clears.
class TimelineView : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit TimelineView(ViewState& state, QWidget* parent = nullptr);

    /// The first is the baseline; none: a hint is drawn. The runs must live until the next call. The visible time stays
    /// unless it was the whole step, or shows none of the new runs.
    void setRuns(const std::vector<const Run*>& runs);
    void setMode(TimelineMode mode);
    TimelineMode mode() const { return scene_.choice.mode; }
    void setAlignment(Alignment alignment);
    void setTheme(ThemeKind kind);
    void setMarks(std::vector<Picoseconds> marks);  ///< on the axis
    /// Ranks as TimelineRow::rank counts them; those that no run has are kept for runs to come.
    void setRanks(std::set<std::size_t> pinned, std::set<std::size_t> expanded);
    /// Spans of the first ranks' lanes and so on: what is expanded, pinned, marked.
    const TimelineScene& scene() const { return scene_; }
    /// Where everything lies now.
    TimelineFrame frame() const;

    /// Everything that the widget shows, in `area`, with rows made to fit: for PNG, SVG and PDF.
    void paint(QPainter& painter, QRect area) const;

    /// Pixels left of the time axis; views that share the axis below the timeline leave the same room.
    int gutter() const { return timelineMetrics().gutter; }

    QSize sizeHint() const override;

public slots:
    void zoomIn() { zoomBy(0.8); }
    void zoomOut() { zoomBy(1.25); }
    void panLeft() { panBy(-0.1); }
    void panRight() { panBy(0.1); }
    void fitSelection();
    void showAll();
    void selectNext() { go(neighbour(1)); }
    void selectPrevious() { go(neighbour(-1)); }
    void selectRowBelow() { go(otherRow(1)); }
    void selectRowAbove() { go(otherRow(-1)); }
    void followInput() { go(alongDependency(-1)); }
    void followOutput() { go(alongDependency(1)); }
    void selectNextBubble() { go(otherBubble(1)); }
    void selectPreviousBubble() { go(otherBubble(-1)); }
    void toggleCriticalPath();
    void toggleMark();  ///< at the cursor, or off when one stands within a few pixels
    void togglePin();
    void toggleExpanded();
    void toggleAllExpanded();
    void higherRows() { changeRowHeight(2); }
    void lowerRows() { changeRowHeight(-2); }
    void clear();  ///< the selection with its chain; when nothing is selected, critical path and marks
    void copyRows();
    void activateSelection();
    void revealSpan(std::size_t run, std::size_t span);

signals:
    void hovered(const QString& text);                      ///< a line for the status bar; empty: nothing
    void areaSelected(const QString& totals);               ///< of several lines
    void gapSelected(const QString& why);                   ///< what the gap waits for
    void spanSelected(std::size_t run, std::size_t span);   ///< click or key
    void spanActivated(std::size_t run, std::size_t span);  ///< double click or Enter
    void modeChanged();
    void gutterChanged(int pixels);  ///< the font is another one
    void marksChanged();

protected:
    bool event(QEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    /// What a press of a button has begun.
    enum class Drag { none, click, area, pan, minimap_window, minimap_left, minimap_right };

    void relayout();
    void sceneChanged();  ///< layout, minimap and picture anew
    void showRange(Picoseconds begin, Picoseconds end);
    bool showsStep() const;
    Picoseconds stepBegin() const;
    Picoseconds stepEnd() const;
    void zoomBy(double factor);
    void zoomAt(double factor, double pixel);
    void panBy(double shareOfWidth);
    void changeRowHeight(int pixels);
    std::optional<Selection> neighbour(int step) const;
    std::optional<Selection> otherRow(int step) const;
    std::optional<Selection> alongDependency(int step);
    std::optional<Selection> otherBubble(int step) const;
    void go(const std::optional<Selection>& selection);
    void bringIntoView(const Selection& selection);
    void onSelection();
    void onLight();
    std::size_t selectedRank() const;
    void hover(QPoint point);
    void leave();
    void dragTo(QPoint point);
    void selectAreaTo(QPoint point);
    void click(QPoint point);
    void pressMinimap(QPoint point);
    void dragMinimap(QPoint point);
    void updateMinimap();
    void updateGround(const TimelineFrame& frame);
    QString tipAt(QPoint point) const;

    ViewState& state_;
    TimelineScene scene_;
    RowLayout layout_;
    DrawingCache cache_;
    QImage minimap_;
    /// Everything but overlays, kept while only those change: the pointer may then move at no cost.
    struct Ground {
        QImage picture;
        Picoseconds begin = 0;
        Picoseconds end = 0;
        int scroll = 0;
    };
    Ground ground_;
    Alignment alignment_ = Alignment::start_of_step;
    int wishedRowHeight_ = 0;  ///< 0: as high as fits
    Drag drag_ = Drag::none;
    QPoint dragStart_;
    TimeAxis dragAxis_;
    int dragScroll_ = 0;
    std::optional<QPoint> pointer_;
};

/// The largest row height with which all rows fit into `height`, between `least` and `most`.
int fittingRowHeight(const std::vector<const Run*>& runs, RowChoice choice, int height, int least, int most);

}  // namespace foreshard::gui
