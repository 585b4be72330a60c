#pragma once

#include <QRect>
#include <QWidget>
#include <vector>

#include "gui/theme.hpp"
#include "gui/view_state.hpp"
#include "sim/result/run.hpp"

class QPainter;

namespace foreshard::gui {

/// Why B takes longer or shorter than A: settings that differ, a waterfall that sums to the difference, figures of
/// both, how much could be matched, and what of each side was not.
class CompareView : public QWidget {
    Q_OBJECT

public:
    explicit CompareView(ViewState& state, QWidget* parent = nullptr);

    /// The first is A, the second B; a chooser offers further ones as B. Fewer than two: a hint is shown.
    void setRuns(std::vector<const Run*> runs);
    void setTheme(ThemeKind kind);
    /// Settings, waterfall and figures on one page: for pictures.
    void paint(QPainter& painter, const QRect& area) const;

private:
    ViewState& state_;
    std::vector<const Run*> runs_;
    ThemeKind theme_ = ThemeKind::light;
};

}  // namespace foreshard::gui
