#pragma once

#include <QRect>
#include <QWidget>
#include <vector>

#include "gui/theme.hpp"
#include "gui/view_state.hpp"
#include "sim/result/run.hpp"

class QPainter;

namespace foreshard::gui {

/// Predicted against measured (tab Validate): a point per matched span, the line of equal times and a band of 10 %, the
/// error by kind with transfer and wait apart, the match rate, and what of each side was not matched.
class OverlayView : public QWidget {
    Q_OBJECT

public:
    explicit OverlayView(ViewState& state, QWidget* parent = nullptr);

    /// The first simulated run is the prediction, the first other one the measurement; two of one source are taken in
    /// order. Fewer than two: a hint is shown.
    void setRuns(std::vector<const Run*> runs);
    void setTheme(ThemeKind kind);
    void paint(QPainter& painter, const QRect& area) const;

private:
    ViewState& state_;
    std::vector<const Run*> runs_;
    ThemeKind theme_ = ThemeKind::light;
};

}  // namespace foreshard::gui
