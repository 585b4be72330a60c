#pragma once

#include <QRect>
#include <QWidget>
#include <vector>

#include "gui/theme.hpp"
#include "sim/result/run.hpp"

class QPainter;

namespace foreshard::gui {

class ChartWidget;
class TableView;

/// Where the step of every rank goes: a bar per rank that is as long as the step, and the numbers below it.
class BreakdownView : public QWidget {
    Q_OBJECT

public:
    explicit BreakdownView(QWidget* parent = nullptr);

    /// Pointers stay valid until the next call. None: a hint is shown. Two or more: bars of a rank stand in pairs.
    void setRuns(std::vector<const Run*> runs);
    void setTheme(ThemeKind kind);
    /// The bars with their legend: for pictures.
    void paint(QPainter& painter, const QRect& area) const;

signals:
    void rankChosen(int rank);  ///< index into the first run's ranks

private:
    std::vector<const Run*> runs_;
    ThemeKind theme_ = ThemeKind::light;
    ChartWidget* chart_ = nullptr;
    TableView* table_ = nullptr;
};

}  // namespace foreshard::gui
