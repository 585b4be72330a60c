#pragma once

#include <QRect>
#include <QWidget>
#include <optional>
#include <vector>

#include "gui/compare/compare_tables.hpp"
#include "gui/compare/overlay.hpp"
#include "gui/theme.hpp"
#include "gui/view_state.hpp"
#include "sim/result/run.hpp"

class QPainter;

namespace foreshard::gui {

class ChartWidget;
class FillWhenSeen;
class TableView;

/// Predicted against measured (tab Validate): a point per matched span, the line of equal times and a band of 10 %, the
/// error by kind with transfer and wait apart, the match rate, and what of each side was not matched.
class OverlayView : public QWidget {
    Q_OBJECT

public:
    explicit OverlayView(ViewState& state, QWidget* parent = nullptr);

    /// The first simulated run is the prediction, the first other one the measurement; where all are of one sort, the
    /// first two in their order. Fewer than two: a hint is shown. The work is left until the view is seen.
    void setRuns(std::vector<const Run*> runs);
    void setTheme(ThemeKind kind);
    void paint(QPainter& painter, const QRect& area) const;

private:
    void compareNow();
    void selectSpan(std::size_t run, std::size_t span);

    ViewState& state_;
    std::vector<const Run*> runs_;
    std::optional<Overlay> overlay_;
    FillWhenSeen* filling_ = nullptr;
    std::vector<UnmatchedGroup> unmatched_;
    ThemeKind theme_ = ThemeKind::light;
    ChartWidget* chart_ = nullptr;
    TableView* errors_ = nullptr;
    TableView* figures_ = nullptr;
    TableView* unmatchedTable_ = nullptr;
};

}  // namespace foreshard::gui
