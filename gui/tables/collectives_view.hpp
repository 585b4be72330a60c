#pragma once

#include <QRect>
#include <QWidget>
#include <vector>

#include "gui/theme.hpp"
#include "sim/result/run.hpp"

class QPainter;

namespace foreshard::gui {

/// Every kind of communication of the first run: who, how much, how long, what limits it.
class CollectivesView : public QWidget {
    Q_OBJECT

public:
    explicit CollectivesView(QWidget* parent = nullptr);

    void setRuns(std::vector<const Run*> runs);  ///< shows the first
    void setTheme(ThemeKind kind);
    void paint(QPainter& painter, const QRect& area) const;

private:
    std::vector<const Run*> runs_;
    ThemeKind theme_ = ThemeKind::light;
};

}  // namespace foreshard::gui
