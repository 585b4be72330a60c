#include "gui/charts/table_view.hpp"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>
#include <QSortFilterProxyModel>
#include <algorithm>

namespace foreshard::gui {

/// Sorts, and leaves out rows.
class RowFilter : public QSortFilterProxyModel {
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    void show(std::vector<bool> shown) {
        shown_ = std::move(shown);
        invalidateFilter();
    }

protected:
    bool filterAcceptsRow(int row, const QModelIndex&) const override {
        const auto at = static_cast<std::size_t>(row);
        return at >= shown_.size() || shown_[at];
    }

private:
    std::vector<bool> shown_;
};

namespace {

/// Columns get the width of their texts up to this many characters.
constexpr int widest_column = 60;

QStringList cells(const QAbstractItemModel& model, int row, const QHeaderView& heads) {
    QStringList texts;
    for (int visual = 0; visual < heads.count(); ++visual) {
        const int column = heads.logicalIndex(visual);
        texts << (row < 0 ? model.headerData(column, Qt::Horizontal) : model.index(row, column).data()).toString();
    }
    return texts;
}

}  // namespace

TableView::TableView(const QString& name, QWidget* parent)
    : QTableView(parent), model_(new TableModel(this)), sorted_(new RowFilter(this)) {
    setAccessibleName(name);
    sorted_->setSourceModel(model_);
    sorted_->setSortRole(sort_role);
    setModel(sorted_);
    setSelectionBehavior(SelectRows);
    setEditTriggers(NoEditTriggers);
    setAlternatingRowColors(true);
    setShowGrid(false);
    setWordWrap(false);
    setTabKeyNavigation(false);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() * 3 / 2);
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    horizontalHeader()->setMaximumSectionSize(fontMetrics().averageCharWidth() * widest_column);
    connect(this, &QTableView::doubleClicked, this,
            [this](const QModelIndex& at) { emit rowActivated(sorted_->mapToSource(at).row()); });
    connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& at) {
        if (at.isValid()) emit rowChosen(sorted_->mapToSource(at).row());
    });
}

void TableView::setTable(Table table) {
    setSortingEnabled(false);
    sorted_->sort(-1);
    sorted_->show({});
    // A last column of numbers would stand far from the others.
    horizontalHeader()->setStretchLastSection(!table.columns.empty() &&
                                              table.columns.back().kind == Column::Kind::text);
    model_->setTable(std::move(table));
    horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    setSortingEnabled(true);
    resizeColumnsToContents();
}

void TableView::showRows(std::vector<bool> shown) {
    sorted_->show(std::move(shown));
}

void TableView::chooseRow(int row) {
    const QModelIndex at = sorted_->mapFromSource(model_->index(row, 0));
    selectRow(at.row());
    scrollTo(at);
}

QString TableView::text() const {
    std::vector<int> rows;
    for (const QModelIndex& at : selectionModel()->selectedRows()) rows.push_back(at.row());
    if (rows.empty()) {
        for (int row = 0; row < sorted_->rowCount(); ++row) rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end());
    QStringList lines = {cells(*sorted_, -1, *horizontalHeader()).join('\t')};
    for (const int row : rows) lines << cells(*sorted_, row, *horizontalHeader()).join('\t');
    return lines.join('\n') + '\n';
}

void TableView::keyPressEvent(QKeyEvent* event) {
    if (event->matches(QKeySequence::Copy)) {
        QApplication::clipboard()->setText(text());
    } else if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && currentIndex().isValid()) {
        emit rowActivated(sorted_->mapToSource(currentIndex()).row());
    } else {
        QTableView::keyPressEvent(event);
    }
}

}  // namespace foreshard::gui
