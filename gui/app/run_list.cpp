#include "gui/app/run_list.hpp"

#include <QKeyEvent>
#include <QSignalBlocker>
#include <algorithm>

namespace foreshard::gui {

namespace {

QString labelOf(const Workspace& workspace, std::size_t index, int place) {
    const Document& document = workspace.document(index);
    const QString letter = place >= 0 ? QString(QChar('A' + std::min(place, 25))) + "  " : QString("    ");
    return letter + QString::fromStdString(document.name);
}

}  // namespace

RunList::RunList(QWidget* parent) : QListWidget(parent) {
    setObjectName("runList");
    setAccessibleName(tr("Open runs"));
    setToolTip(tr("Checked runs are shown, the first as A. Return: make it A. Delete: close it."));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setTextElideMode(Qt::ElideMiddle);
    connect(this, &QListWidget::itemChanged, this,
            [this](QListWidgetItem* item) { emit shownChanged(row(item), item->checkState() == Qt::Checked); });
    connect(this, &QListWidget::currentRowChanged, this, [this](int index) {
        if (index >= 0) emit chosen(index);
    });
}

void RunList::show(const Workspace& workspace) {
    const QSignalBlocker quiet(this);
    clear();
    int place = 0;
    for (std::size_t i = 0; i < workspace.size(); ++i) {
        const bool shown = workspace.isShown(i);
        auto* item = new QListWidgetItem(labelOf(workspace, i, shown ? place++ : -1), this);
        item->setFlags(item->flags() | Qt::ItemIsUserCheckable);
        item->setCheckState(shown ? Qt::Checked : Qt::Unchecked);
        item->setToolTip(QString::fromStdString(workspace.document(i).run.provenance));
        if (workspace.edited() == i) setCurrentItem(item);
    }
    const int rows = std::clamp(count(), 1, 6);
    setFixedHeight(rows * std::max(sizeHintForRow(0), fontMetrics().height() + 8) + 2 * frameWidth());
}

void RunList::keyPressEvent(QKeyEvent* event) {
    if (currentRow() >= 0 && event->key() == Qt::Key_Delete) {
        emit closed(currentRow());
    } else if (currentRow() >= 0 && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)) {
        emit baselineChosen(currentRow());
    } else {
        QListWidget::keyPressEvent(event);
    }
}

}  // namespace foreshard::gui
