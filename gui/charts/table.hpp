#pragma once

#include <QAbstractTableModel>
#include <QColor>
#include <QPainter>
#include <QRect>
#include <QString>
#include <QVariant>
#include <vector>

#include "gui/theme.hpp"

/// Tables as data: a function makes them, one model shows them, one function paints them.
namespace foreshard::gui {

struct Cell {
    QString text;        ///< with its unit where the head has none
    QVariant sort = {};  ///< what rows are ordered by; not valid: the text
    QString tip = {};
    enum class Tone { plain, better, worse, warning } tone = Tone::plain;
};

struct Column {
    QString title;
    enum class Kind { text, number } kind = Kind::text;
};

struct Table {
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows;  ///< each as long as `columns`
};

/// Of a tone: blue is better, orange is worse, never green against red.
QColor toneColor(const Theme& theme, Cell::Tone tone);

class TableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    using QAbstractTableModel::QAbstractTableModel;

    void setTable(Table table);
    void setTheme(ThemeKind kind);
    const Table& table() const { return table_; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    Table table_;
    ThemeKind theme_ = ThemeKind::light;
};

/// Role by which tables sort, where what is shown is text with a unit.
inline constexpr int sort_role = Qt::UserRole + 1;

/// Width at which nothing is cut.
int tableWidth(const QPaintDevice& device, const Table& table);

/// Heads and as many rows as fit; the last line says how many do not. For pictures.
/// @return height used
int paintTable(QPainter& painter, const QRect& area, const Table& table, const Theme& theme);

}  // namespace foreshard::gui
