#include "gui/charts/table.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "gui/charts/draw.hpp"

namespace foreshard::gui {

namespace {

Qt::Alignment alignment(const Column& column) {
    return Qt::AlignVCenter | (column.kind == Column::Kind::number ? Qt::AlignRight : Qt::AlignLeft);
}

/// Of each column with its head, and room between them; squeezed to `most` in total.
std::vector<int> columnWidths(const QFontMetrics& metrics, const Table& table, int most) {
    const int room = 2 * metrics.averageCharWidth();
    std::vector<int> widths;
    widths.reserve(table.columns.size());
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        int width = metrics.horizontalAdvance(table.columns[c].title);
        for (const auto& row : table.rows) width = std::max(width, metrics.horizontalAdvance(row[c].text));
        widths.push_back(width + room);
    }
    const int total = std::accumulate(widths.begin(), widths.end(), 0);
    if (total <= most || widths.empty()) return widths;
    int& widest = *std::max_element(widths.begin(), widths.end());
    widest = std::max(widest - (total - most), 4 * room);
    return widths;
}

}  // namespace

int tableWidth(const QPaintDevice& device, const Table& table) {
    const std::vector<int> widths = columnWidths(metricsOf(device, viewFont()), table, std::numeric_limits<int>::max());
    return std::accumulate(widths.begin(), widths.end(), 0);
}

QColor toneColor(const Theme& theme, Cell::Tone tone) {
    switch (tone) {
        case Cell::Tone::plain:
            return theme.text;
        case Cell::Tone::better:
            return theme.early;
        case Cell::Tone::worse:
            return theme.late;
        case Cell::Tone::warning:
            return theme.capacity;
    }
    return theme.text;
}

void TableModel::setTable(Table table) {
    beginResetModel();
    table_ = std::move(table);
    endResetModel();
}

void TableModel::setTheme(ThemeKind kind) {
    theme_ = kind;
    if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

int TableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(table_.rows.size());
}

int TableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(table_.columns.size());
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Cell& cell = table_.rows[static_cast<std::size_t>(index.row())][static_cast<std::size_t>(index.column())];
    switch (role) {
        case Qt::DisplayRole:
            return cell.text;
        case sort_role:
            return cell.sort.isValid() ? cell.sort : QVariant(cell.text);
        case Qt::ToolTipRole:
            return cell.tip.isEmpty() ? QVariant() : cell.tip;
        case Qt::TextAlignmentRole:
            return QVariant::fromValue(alignment(table_.columns[static_cast<std::size_t>(index.column())]));
        case Qt::ForegroundRole:
            return cell.tone == Cell::Tone::plain ? QVariant() : toneColor(theme(theme_), cell.tone);
        default:
            return {};
    }
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
    const Column& column = table_.columns[static_cast<std::size_t>(section)];
    if (role == Qt::DisplayRole) return column.title;
    if (role == Qt::TextAlignmentRole) return QVariant::fromValue(alignment(column));
    return {};
}

int paintTable(QPainter& painter, const QRect& area, const Table& table, const Theme& theme) {
    painter.setFont(viewFont());
    const QFontMetrics metrics = metricsOf(painter, viewFont());
    const std::vector<int> widths = columnWidths(metrics, table, area.width());
    const int line = metrics.lineSpacing();
    const int room = metrics.averageCharWidth();
    int y = area.top();
    const auto drawCell = [&](std::size_t column, int x, const QString& text) {
        drawElided(painter, QRect(x, y, widths[column] - room, line), alignment(table.columns[column]), text);
    };
    const auto fits = static_cast<std::size_t>(std::max(0, area.height() / line - 1));
    const std::size_t shown = table.rows.size() <= fits ? table.rows.size() : std::max<std::size_t>(fits, 1) - 1;
    for (std::size_t r = 0; r <= shown; ++r) {
        int x = area.left();
        for (std::size_t c = 0; c < table.columns.size(); ++c) {
            const Cell* cell = r == 0 ? nullptr : &table.rows[r - 1][c];
            painter.setPen(cell == nullptr ? theme.faintText : toneColor(theme, cell->tone));
            drawCell(c, x, cell == nullptr ? table.columns[c].title : cell->text);
            x += widths[c];
        }
        y += line;
    }
    if (shown < table.rows.size()) {
        painter.setPen(theme.faintText);
        painter.drawText(area.left(), y + metrics.ascent(), QString("... and %1 more").arg(table.rows.size() - shown));
        y += line;
    }
    return y - area.top();
}

}  // namespace foreshard::gui
