#pragma once

#include <QRect>
#include <QWidget>
#include <optional>
#include <vector>

#include "gui/compare/compare_painter.hpp"
#include "gui/compare/compare_tables.hpp"
#include "gui/theme.hpp"
#include "gui/view_state.hpp"
#include "sim/result/run.hpp"

class QComboBox;
class QPainter;

namespace foreshard::gui {

class ChartWidget;
class FillWhenSeen;
class TableView;

/// Why B takes longer or shorter than A: settings that differ, a waterfall that sums to the difference, figures of
/// both, how much could be matched, and what of each side was not.
class CompareView : public QWidget {
    Q_OBJECT

public:
    explicit CompareView(ViewState& state, QWidget* parent = nullptr);

    /// The first is A, the second B; a chooser offers further ones as B. Fewer than two: a hint is shown. The work is
    /// left until the view is seen.
    void setRuns(std::vector<const Run*> runs);
    void setTheme(ThemeKind kind);
    /// Settings, waterfall and figures on one page: for pictures.
    void paint(QPainter& painter, const QRect& area) const;
    /// Nothing with fewer than two runs, or while the view has not been seen.
    const std::optional<ComparedRuns>& compared() const { return compared_; }

private:
    void compareWith(int index);
    void compareNow();

    ViewState& state_;
    std::vector<const Run*> runs_;
    ThemeKind theme_ = ThemeKind::light;
    std::optional<ComparedRuns> compared_;
    std::vector<UnmatchedGroup> unmatched_;
    int other_ = 1;  ///< index of B
    FillWhenSeen* filling_ = nullptr;
    QComboBox* chooser_ = nullptr;
    ChartWidget* chart_ = nullptr;
    TableView* figures_ = nullptr;
    TableView* settings_ = nullptr;
    TableView* unmatchedTable_ = nullptr;
};

}  // namespace foreshard::gui
