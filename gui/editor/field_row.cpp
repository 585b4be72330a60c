#include "gui/editor/field_row.hpp"

#include <QComboBox>
#include <QCompleter>
#include <QGridLayout>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QWheelEvent>
#include <algorithm>
#include <limits>

#include "gui/charts/draw.hpp"

namespace foreshard::gui {

namespace {

QString defaultName(const QString& resolved) {
    return resolved.isEmpty() ? QObject::tr("default") : QObject::tr("default: %1").arg(resolved);
}

}  // namespace

StepBox::StepBox(Step step, QWidget* parent) : QSpinBox(parent), step_(step) {
    setRange(0, std::numeric_limits<int>::max());
    setSpecialValueText(tr("default"));
    setAccelerated(true);
    setKeyboardTracking(false);
    setFocusPolicy(Qt::StrongFocus);
}

void StepBox::stepBy(int steps) {
    const int from = value() > 0 ? value() : default_;
    if (step_ == Step::one) {
        setValue(std::max(1, from + steps));
        return;
    }
    qint64 next = from;
    for (int i = 0; i < std::abs(steps) && next < maximum(); ++i)
        next = steps > 0 ? next * 2 : std::max<qint64>(1, next / 2);
    setValue(static_cast<int>(std::min<qint64>(next, maximum())));
}

/// Scrolling the editor must not change values on the way.
void StepBox::wheelEvent(QWheelEvent* event) {
    if (hasFocus()) {
        QSpinBox::wheelEvent(event);
    } else {
        event->ignore();
    }
}

FieldRow::FieldRow(const PlanField& field, QWidget* parent) : QWidget(parent), field_(field) {
    label_ = new QLabel(qt(field.label), this);
    label_->setToolTip(qt(field.help));
    message_ = new QLabel(this);
    message_->setWordWrap(true);
    message_->setObjectName("fieldMessage");
    message_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    message_->hide();
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setVerticalSpacing(1);
    grid->addWidget(label_, 0, 0);
    grid->addWidget(message_, 1, 0, 1, 2);
    buildEditor();
    QWidget* editor = combo_ ? static_cast<QWidget*>(combo_) : line_ ? static_cast<QWidget*>(line_) : spin_;
    editor->setAccessibleName(qt(field.label));
    editor->setAccessibleDescription(qt(field.help));
    editor->setToolTip(qt(field.help));
    editor->setObjectName(qt(field.name));
    label_->setBuddy(editor);
    grid->addWidget(editor, 0, 1);
    grid->setColumnStretch(0, 5);
    grid->setColumnStretch(1, 6);
    setFocusProxy(editor);
}

void FieldRow::buildEditor() {
    switch (field_.kind) {
        case FieldKind::choice:
        case FieldKind::open_choice:
        case FieldKind::toggle:
            combo_ = new QComboBox(this);
            combo_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
            combo_->setMinimumContentsLength(7);
            combo_->setFocusPolicy(Qt::StrongFocus);
            addChoices();
            connect(combo_, &QComboBox::activated, this, &FieldRow::emitEdited);
            break;
        case FieldKind::degree:
        case FieldKind::count:
            spin_ = new StepBox(field_.kind == FieldKind::degree ? StepBox::Step::doubling : StepBox::Step::one, this);
            connect(spin_, &QSpinBox::valueChanged, this, &FieldRow::emitEdited);
            break;
        case FieldKind::text:
            line_ = new QLineEdit(this);
            line_->setPlaceholderText(tr("default"));
            connect(line_, &QLineEdit::editingFinished, this, &FieldRow::emitEdited);
            break;
    }
}

void FieldRow::addChoices() {
    combo_->addItem(tr("default"), QString());
    if (field_.kind == FieldKind::toggle) {
        combo_->addItem(tr("on"), QStringLiteral("true"));
        combo_->addItem(tr("off"), QStringLiteral("false"));
        return;
    }
    for (const std::string& value : choices(field_.name)) combo_->addItem(qt(value), qt(value));
    if (field_.kind != FieldKind::open_choice) return;
    combo_->setEditable(true);
    combo_->setInsertPolicy(QComboBox::NoInsert);
    combo_->completer()->setFilterMode(Qt::MatchContains);
    combo_->completer()->setCompletionMode(QCompleter::PopupCompletion);
    connect(combo_->lineEdit(), &QLineEdit::editingFinished, this, &FieldRow::emitEdited);
}

QString FieldRow::text() const {
    if (spin_) return spin_->value() > 0 ? QString::number(spin_->value()) : QString();
    if (line_) return line_->text().trimmed();
    if (!combo_->isEditable()) return combo_->currentData().toString();
    const QString typed = combo_->currentText().trimmed();
    return typed == combo_->itemText(0) ? QString() : typed;
}

void FieldRow::setText(const QString& text) {
    sent_ = text;
    if (spin_) {
        const QSignalBlocker quiet(spin_);
        spin_->setValue(text.toInt());
    } else if (line_) {
        line_->setText(text);
    } else {
        const QSignalBlocker quiet(combo_);
        int index = combo_->findData(text);
        if (index < 0) {
            combo_->addItem(text, text);
            index = combo_->count() - 1;
        }
        combo_->setCurrentIndex(index);
        if (combo_->isEditable()) combo_->lineEdit()->setCursorPosition(0);
    }
}

void FieldRow::setResolved(const QString& text) {
    if (spin_) {
        spin_->setSpecialValueText(defaultName(text));
        spin_->setDefault(std::max(1, text.toInt()));
    } else if (line_) {
        line_->setPlaceholderText(defaultName(text));
    } else {
        const QSignalBlocker quiet(combo_);
        combo_->setItemText(0, defaultName(text));
    }
}

void FieldRow::setMessage(const QString& text) {
    message_->setText(text);
    message_->setVisible(!text.isEmpty());
    setAccessibleDescription(text);
}

void FieldRow::setChanged(bool changed) {
    QFont font = label_->font();
    font.setBold(changed);
    label_->setFont(font);
    label_->setText(changed ? QStringLiteral("\u25CF ") + qt(field_.label) : qt(field_.label));
}

void FieldRow::emitEdited() {
    if (text() == sent_) return;
    sent_ = text();
    emit edited(qt(field_.name), sent_);
}

}  // namespace foreshard::gui
