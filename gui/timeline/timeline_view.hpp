#pragma once

#include <QAbstractScrollArea>
#include <memory>
#include <vector>

#include "gui/theme.hpp"
#include "gui/timeline/timeline_rows.hpp"
#include "gui/view_state.hpp"
#include "sim/result/run.hpp"

/// The pipeline's timeline: minimap, ruler and a row per rank, drawn by hand so that millions of spans stay fluent.
namespace foreshard::gui {

struct TimelineScene;

/// Where second and later runs are laid beside the first.
enum class Alignment : std::uint8_t { start_of_step, end_of_step };

/// Times on the axis are those of the first run; the others are shifted so that their steps start (or end) together.
class TimelineView : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit TimelineView(ViewState& state, QWidget* parent = nullptr);
    ~TimelineView() override;

    /// The first is the baseline; none: a hint is drawn. The runs must live until the next call. Shows the whole step
    /// if nothing was shown before or `state` shows none of it.
    void setRuns(std::vector<const Run*> runs);
    void setMode(TimelineMode mode);
    TimelineMode mode() const;
    void setAlignment(Alignment alignment);
    void setTheme(ThemeKind kind);

    /// Everything that the widget shows, in `area`, all ranks made to fit, without widgets: for PNG, SVG and PDF.
    void paint(QPainter& painter, QRect area) const;

    /// Pixels left of the time axis; views that share the axis below the timeline leave the same room.
    int gutter() const;

public slots:
    void zoomIn();
    void zoomOut();
    void panLeft();
    void panRight();
    void fitSelection();  ///< key F: the selection, or the step
    void showAll();       ///< key 0: the whole run
    void selectNext();    ///< key .
    void selectPrevious();
    void followInput();   ///< key [: what the selected span waited for last
    void followOutput();  ///< key ]: what waits for it
    void selectNextBubble();
    void selectPreviousBubble();
    void toggleCriticalPath();
    void toggleMark();  ///< key M: a mark at the cursor, or off the mark there
    void togglePin();   ///< key P: the selected row's rank
    void toggleExpanded();
    void expandAll();
    void clear();    ///< key Esc: selection, chain, light, then marks
    void copyRow();  ///< Ctrl+C: spans of the selected row as tab-separated values, or the selected area's
    void revealSpan(std::size_t run, std::size_t span);  ///< selects it and brings it into view

signals:
    void hovered(const QString& text);          ///< a line for the status bar
    void areaSelected(const QString& totals);   ///< text of several lines, empty when the area was left
    void gapSelected(const QString& why);       ///< what the gap waits for
    void spanActivated(std::size_t run, std::size_t span);  ///< double click or Enter
    void marksChanged();

public:
    bool viewportEvent(QEvent* event) override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    ViewState& state_;
    std::unique_ptr<TimelineScene> scene_;
};

}  // namespace foreshard::gui
