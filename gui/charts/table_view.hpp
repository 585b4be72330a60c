#pragma once

#include <QTableView>

namespace foreshard::gui {

/// A table that reads like text: sorts by its heads, Ctrl+C copies the chosen rows (or all) with their heads, Return
/// activates a row. Numbers are aligned by the model.
class TableView : public QTableView {
    Q_OBJECT

public:
    /// @param name for screen readers
    explicit TableView(const QString& name, QWidget* parent = nullptr);

    /// Chosen rows as they are shown, tab-separated, heads first; all rows when none is chosen.
    QString text() const;

signals:
    void rowActivated(int row);  ///< of the view's model

protected:
    void keyPressEvent(QKeyEvent* event) override;
};

/// Role by which tables sort, where what is shown is text with a unit.
inline constexpr int sort_role = Qt::UserRole + 1;

}  // namespace foreshard::gui
