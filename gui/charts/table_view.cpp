#include "gui/charts/table_view.hpp"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>
#include <algorithm>

#include "gui/theme.hpp"

namespace foreshard::gui {

namespace {

QStringList cells(const QAbstractItemModel& model, int row, const QHeaderView& heads) {
    QStringList texts;
    for (int visual = 0; visual < heads.count(); ++visual) {
        const int column = heads.logicalIndex(visual);
        texts << (row < 0 ? model.headerData(column, Qt::Horizontal) : model.index(row, column).data()).toString();
    }
    return texts;
}

}  // namespace

TableView::TableView(const QString& name, QWidget* parent) : QTableView(parent) {
    setAccessibleName(name);
    setFont(viewFont());
    setSelectionBehavior(SelectRows);
    setEditTriggers(NoEditTriggers);
    setAlternatingRowColors(true);
    setShowGrid(false);
    setWordWrap(false);
    setTabKeyNavigation(false);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() * 3 / 2);
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    horizontalHeader()->setStretchLastSection(true);
    connect(this, &QTableView::doubleClicked, this, [this](const QModelIndex& at) { emit rowActivated(at.row()); });
}

QString TableView::text() const {
    if (model() == nullptr) return {};
    std::vector<int> rows;
    if (selectionModel() != nullptr) {
        for (const QModelIndex& at : selectionModel()->selectedRows()) rows.push_back(at.row());
    }
    if (rows.empty()) {
        for (int row = 0; row < model()->rowCount(); ++row) rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end());
    QStringList lines = {cells(*model(), -1, *horizontalHeader()).join('\t')};
    for (const int row : rows) lines << cells(*model(), row, *horizontalHeader()).join('\t');
    return lines.join('\n') + '\n';
}

void TableView::keyPressEvent(QKeyEvent* event) {
    if (event->matches(QKeySequence::Copy)) {
        QApplication::clipboard()->setText(text());
    } else if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && currentIndex().isValid()) {
        emit rowActivated(currentIndex().row());
    } else {
        QTableView::keyPressEvent(event);
    }
}

}  // namespace foreshard::gui
