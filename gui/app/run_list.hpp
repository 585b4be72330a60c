#pragma once

#include <QListWidget>

#include "gui/app/workspace.hpp"

namespace foreshard::gui {

/// The runs that are open: checked ones are shown, the one that is edited is chosen. Delete closes a run, Return makes
/// it the baseline.
class RunList : public QListWidget {
    Q_OBJECT

public:
    explicit RunList(QWidget* parent = nullptr);

    void show(const Workspace& workspace);

signals:
    void shownChanged(int index, bool shown);
    void chosen(int index);
    void closed(int index);
    void baselineChosen(int index);

protected:
    void keyPressEvent(QKeyEvent* event) override;
};

}  // namespace foreshard::gui
