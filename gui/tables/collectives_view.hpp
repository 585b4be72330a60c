#pragma once

#include <QRect>
#include <QWidget>
#include <vector>

#include "gui/theme.hpp"
#include "sim/result/run.hpp"

class QPainter;

namespace foreshard::gui {

class FillWhenSeen;
class TableView;

/// Communication of the first run: what the step's sums are, and every kind of message with what limits it.
class CollectivesView : public QWidget {
    Q_OBJECT

public:
    explicit CollectivesView(QWidget* parent = nullptr);

    /// The work is left until the view is seen.
    void setRuns(std::vector<const Run*> runs);
    void setTheme(ThemeKind kind);
    void paint(QPainter& painter, const QRect& area) const;

private:
    void fill();

    std::vector<const Run*> runs_;
    FillWhenSeen* filling_ = nullptr;
    ThemeKind theme_ = ThemeKind::light;
    TableView* traffic_ = nullptr;
    TableView* messages_ = nullptr;
};

}  // namespace foreshard::gui
