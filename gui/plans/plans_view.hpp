#pragma once

#include <QRect>
#include <QWidget>

#include "gui/theme.hpp"

class QPainter;

namespace foreshard::gui {

/// What a search found: a table to sort and filter, throughput against memory with the front of plans that nothing
/// beats in both, a map of TP x PP, and why plans were refused. `setSearch` follows with the reader's type.
class PlansView : public QWidget {
    Q_OBJECT

public:
    explicit PlansView(QWidget* parent = nullptr);

    void setTheme(ThemeKind kind);
    /// Scatter and map side by side: for pictures.
    void paint(QPainter& painter, const QRect& area) const;

signals:
    /// Double-click or Return on a plan: index into the search's plans.
    void planActivated(int plan);

private:
    ThemeKind theme_ = ThemeKind::light;
};

}  // namespace foreshard::gui
