#pragma once

#include <QRect>
#include <QWidget>
#include <vector>

#include "gui/theme.hpp"
#include "sim/result/run.hpp"

class QPainter;

namespace foreshard::gui {

class TableView;

/// Communication of the first run: what the step's sums are, and every kind of message with what limits it.
class CollectivesView : public QWidget {
    Q_OBJECT

public:
    explicit CollectivesView(QWidget* parent = nullptr);

    void setRuns(std::vector<const Run*> runs);
    void setTheme(ThemeKind kind);
    void paint(QPainter& painter, const QRect& area) const;

private:
    ThemeKind theme_ = ThemeKind::light;
    TableView* traffic_ = nullptr;
    TableView* messages_ = nullptr;
};

}  // namespace foreshard::gui
