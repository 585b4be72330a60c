#pragma once

#include <QTableView>

#include "gui/charts/table.hpp"

namespace foreshard::gui {

class RowFilter;

/// A table that reads like text: sorts by its heads, Ctrl+C copies the chosen rows (or all) with their heads, Return
/// activates a row.
class TableView : public QTableView {
    Q_OBJECT

public:
    /// @param name for screen readers
    explicit TableView(const QString& name, QWidget* parent = nullptr);

    void setTable(Table table);
    const Table& table() const { return model_->table(); }
    void setTheme(ThemeKind kind) { model_->setTheme(kind); }
    /// Shows only rows whose entry is true; as long as the table has rows. A new table shows all.
    void showRows(std::vector<bool> shown);
    void chooseRow(int row);  ///< row of the table, as signals name them

    /// Chosen rows as they are shown, tab-separated, heads first; all rows when none is chosen.
    QString text() const;

signals:
    void rowActivated(int row);  ///< of the table: double-click or Return
    void rowChosen(int row);

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    TableModel* model_;
    RowFilter* sorted_;
};

}  // namespace foreshard::gui
