#pragma once

#include <QRect>
#include <QWidget>
#include <vector>

#include "gui/tables/path_segments.hpp"
#include "gui/theme.hpp"
#include "gui/view_state.hpp"
#include "sim/result/run.hpp"

class QPainter;

namespace foreshard::gui {

class ChartWidget;
class FillWhenSeen;
class TableView;

/// The chain of spans that sets the step time: as steps over ranks and time, and in few lines. Choosing a line selects
/// its first span.
class CriticalPathView : public QWidget {
    Q_OBJECT

public:
    explicit CriticalPathView(ViewState& state, QWidget* parent = nullptr);

    void setRuns(std::vector<const Run*> runs);  ///< shows the first, once the view is seen
    void setTheme(ThemeKind kind);
    void paint(QPainter& painter, const QRect& area) const;

private:
    void fill();
    void selectPart(int row);

    ViewState& state_;
    std::vector<const Run*> runs_;
    std::vector<PathPart> parts_;
    FillWhenSeen* filling_ = nullptr;
    ThemeKind theme_ = ThemeKind::light;
    ChartWidget* chart_ = nullptr;
    TableView* table_ = nullptr;
};

/// Spans of the path at their place: a row per rank, time from left to right.
void paintCriticalPath(QPainter& painter, const QRect& area, const Run& run, const Theme& theme);

}  // namespace foreshard::gui
