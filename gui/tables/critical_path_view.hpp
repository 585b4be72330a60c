#pragma once

#include <QRect>
#include <QWidget>
#include <vector>

#include "gui/theme.hpp"
#include "gui/view_state.hpp"
#include "sim/result/run.hpp"

class QPainter;

namespace foreshard::gui {

/// The chain of spans that sets the step time, in few lines. Choosing a line selects its first span.
class CriticalPathView : public QWidget {
    Q_OBJECT

public:
    explicit CriticalPathView(ViewState& state, QWidget* parent = nullptr);

    void setRuns(std::vector<const Run*> runs);  ///< shows the first
    void setTheme(ThemeKind kind);
    void paint(QPainter& painter, const QRect& area) const;

private:
    ViewState& state_;
    std::vector<const Run*> runs_;
    ThemeKind theme_ = ThemeKind::light;
};

}  // namespace foreshard::gui
