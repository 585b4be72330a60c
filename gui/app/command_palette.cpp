#include "gui/app/command_palette.hpp"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>
#include <vector>

namespace foreshard::gui {

namespace {

QString nameOf(const QAction* action) {
    QString text = action->text();
    text.remove('&');
    return text;
}

QString lineOf(const QAction* action) {
    const QString keys = action->shortcut().toString(QKeySequence::NativeText);
    return keys.isEmpty() ? nameOf(action) : nameOf(action) + "\t" + keys;
}

}  // namespace

int matchScore(const QString& typed, const QString& text) {
    const qsizetype whole = text.indexOf(typed, 0, Qt::CaseInsensitive);
    if (whole >= 0) return static_cast<int>(whole);
    qsizetype at = -1;
    for (const QChar letter : typed) {
        at = text.indexOf(letter, at + 1, Qt::CaseInsensitive);
        if (at < 0) return -1;
    }
    return 1000 + static_cast<int>(at);
}

CommandPalette::CommandPalette(QWidget* parent) : QFrame(parent) {
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    line_ = new QLineEdit(this);
    line_->setPlaceholderText(tr("Type a command"));
    line_->setAccessibleName(tr("Command"));
    line_->installEventFilter(this);
    list_ = new QListWidget(this);
    list_->setAccessibleName(tr("Commands"));
    list_->setFocusPolicy(Qt::NoFocus);
    auto* column = new QVBoxLayout(this);
    column->addWidget(line_);
    column->addWidget(list_);
    connect(line_, &QLineEdit::textChanged, this, &CommandPalette::narrow);
    connect(line_, &QLineEdit::returnPressed, this, &CommandPalette::run);
    connect(list_, &QListWidget::itemClicked, this, &CommandPalette::run);
    hide();
}

void CommandPalette::open(const QList<QAction*>& actions) {
    actions_ = actions;
    line_->clear();
    narrow({});
    const int width = std::min(560, parentWidget()->width() - 40);
    setGeometry((parentWidget()->width() - width) / 2, 30, width, std::min(420, parentWidget()->height() - 60));
    show();
    raise();
    line_->setFocus();
}

QStringList CommandPalette::shown() const {
    QStringList names;
    for (int i = 0; i < list_->count(); ++i) names << list_->item(i)->text().section('\t', 0, 0);
    return names;
}

void CommandPalette::narrow(const QString& typed) {
    std::vector<std::pair<int, int>> found;  // score, index
    for (int i = 0; i < actions_.size(); ++i) {
        if (!actions_[i]->isEnabled() || actions_[i]->isSeparator()) continue;
        const int score = matchScore(typed, nameOf(actions_[i]));
        if (score >= 0) found.emplace_back(score, i);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    list_->clear();
    for (const auto& [score, index] : found) {
        auto* item = new QListWidgetItem(lineOf(actions_[index]), list_);
        item->setData(Qt::UserRole, index);
    }
    list_->setCurrentRow(0);
}

void CommandPalette::run() {
    const QListWidgetItem* item = list_->currentItem();
    hide();
    if (item) actions_[item->data(Qt::UserRole).toInt()]->trigger();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::FocusOut) hide();
    if (event->type() != QEvent::KeyPress) return QFrame::eventFilter(watched, event);
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Escape) {
        hide();
        if (parentWidget()) parentWidget()->setFocus();
        return true;
    }
    if (key == Qt::Key_Down || key == Qt::Key_Up || key == Qt::Key_PageDown || key == Qt::Key_PageUp) {
        QCoreApplication::sendEvent(list_, event);
        return true;
    }
    return QFrame::eventFilter(watched, event);
}

}  // namespace foreshard::gui
