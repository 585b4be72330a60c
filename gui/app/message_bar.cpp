#include "gui/app/message_bar.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

namespace foreshard::gui {

namespace {

constexpr qsizetype shown_messages = 3;

}  // namespace

MessageBar::MessageBar(QWidget* parent) : QFrame(parent) {
    label_ = new QLabel(this);
    label_->setWordWrap(true);
    label_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    auto* close = new QToolButton(this);
    close->setText(QStringLiteral("\u2715"));
    close->setAutoRaise(true);
    close->setToolTip(tr("Dismiss"));
    close->setAccessibleName(tr("Dismiss messages"));
    connect(close, &QToolButton::clicked, this, &MessageBar::clear);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(8, 3, 3, 3);
    row->addWidget(label_, 1);
    row->addWidget(close, 0, Qt::AlignTop);
    setAccessibleName(tr("Messages"));
    hide();
}

void MessageBar::show(Severity severity, const QString& text) {
    if (severity == Severity::error) worst_ = Severity::error;
    messages_.removeAll(text);
    messages_.prepend(text);
    update();
}

void MessageBar::setTheme(ThemeKind kind) {
    theme_ = kind;
    update();
}

void MessageBar::clear() {
    messages_.clear();
    worst_ = Severity::warning;
    update();
}

void MessageBar::update() {
    const Theme& colors = theme(theme_);
    const QColor edge = worst_ == Severity::error ? colors.capacity : colors.late;
    setObjectName("messageBar");
    setStyleSheet(
        QStringLiteral("#messageBar { background: %1; border-left: 5px solid %2; } QLabel, QToolButton { color: %3; }")
            .arg(colors.panel.name(), edge.name(), colors.text.name()));
    QStringList lines = messages_.mid(0, shown_messages);
    const qsizetype hidden = messages_.size() - lines.size();
    if (hidden > 0) lines << tr("and %1 more: see the Log").arg(hidden);
    label_->setText(lines.join('\n'));
    label_->setAccessibleName(label_->text());
    setVisible(!messages_.isEmpty());
}

}  // namespace foreshard::gui
