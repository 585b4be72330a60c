#pragma once

#include <QAbstractScrollArea>
#include <QRect>
#include <vector>

#include "gui/memory/memory_painter.hpp"
#include "gui/theme.hpp"
#include "gui/view_state.hpp"
#include "sim/result/run.hpp"

class QPainter;

/// Memory of every pipeline rank over time.
namespace foreshard::gui {

/// A lane per rank of the first run, stacked by category, all on one scale, with the capacity line and the peak; above
/// them, where there are several, the maximum over ranks: at every time the rank that holds most. Shares
/// visible time, cursor and zoom with the timeline. Further runs are drawn as a line over the lane of the same rank;
/// measured ones dashed.
///
/// Keys: Up, Down choose a lane, Return puts the cursor on its peak, Ctrl+C copies what the peak is made of (the tool
/// tip of a lane shows the same); W, S zoom at the cursor, A, D pan.
class MemoryView : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit MemoryView(ViewState& state, QWidget* parent = nullptr);

    /// Pointers stay valid until the next call. None: a hint is shown.
    void setRuns(std::vector<const Run*> runs);
    void setTheme(ThemeKind kind);
    /// Width of the names at the left in pixels: that of the timeline, so that one time stands under the other.
    /// 0: as wide as the names.
    void setGutter(int pixels);

    /// All lanes that fit into `area`, with legend: for pictures. Shows the visible time of the state.
    void paint(QPainter& painter, const QRect& area) const;

    /// Index of the chosen rank of the first run; -1: none. Its peak is listed at the right.
    int chosenRank() const { return chosen_; }
    void chooseRank(int rank);

signals:
    void rankChosen(int rank);

protected:
    bool viewportEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void updateScrollBar();
    void describe();
    bool hasMemory() const;
    MemoryScene scene() const;
    MemoryLayout layout() const;
    void zoom(double factor, double pixel);
    void pan(double pixels);
    void goToPeak();
    int describedRank() const;
    int rankAt(const QPointF& place) const;
    double cursorPixel() const;

    ViewState& state_;
    std::vector<const Run*> runs_;
    ThemeKind theme_ = ThemeKind::light;
    int gutter_ = 0;
    int chosen_ = -1;
};

}  // namespace foreshard::gui
