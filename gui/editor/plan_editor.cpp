#include "gui/editor/plan_editor.hpp"

#include <QLabel>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/charts/draw.hpp"
#include "sim/error.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard::gui {

PlanEditor::PlanEditor(QWidget* parent) : QScrollArea(parent), history_(JobRequest{}) {
    auto* page = new QWidget(this);
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(6, 6, 6, 6);
    column->setSpacing(3);
    general_ = new QLabel(page);
    general_->setObjectName("fieldMessage");
    general_->setWordWrap(true);
    general_->hide();
    column->addWidget(general_);
    for (const FieldGroup& group : fieldGroups()) addGroup(group, page);
    column->addStretch(1);
    setWidget(page);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFrameShape(QFrame::NoFrame);
    setMinimumWidth(page->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width());
    setAccessibleName(tr("Plan editor"));
}

void PlanEditor::addGroup(const FieldGroup& group, QWidget* page) {
    auto* head = new QToolButton(page);
    head->setText(qt(group.title));
    head->setCheckable(true);
    head->setChecked(group.open);
    head->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    head->setArrowType(group.open ? Qt::DownArrow : Qt::RightArrow);
    head->setAutoRaise(true);
    QFont font = head->font();
    font.setBold(true);
    head->setFont(font);
    auto* body = new QWidget(page);
    auto* rows = new QVBoxLayout(body);
    rows->setContentsMargins(8, 0, 0, 4);
    rows->setSpacing(2);
    for (const PlanField& field : group.fields) {
        auto* row = new FieldRow(field, body);
        connect(row, &FieldRow::edited, this, &PlanEditor::change);
        rows->addWidget(row);
        rows_[std::string(field.name)] = row;
    }
    body->setVisible(group.open);
    connect(head, &QToolButton::toggled, body, [head, body](bool open) {
        body->setVisible(open);
        head->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
    });
    page->layout()->addWidget(head);
    page->layout()->addWidget(body);
}

void PlanEditor::setRequest(const JobRequest& request) {
    history_ = History(request);
    messages_.clear();
    showRequest();
}

void PlanEditor::setEditable(bool editable) {
    widget()->setEnabled(editable);
}

void PlanEditor::setBaseline(const JobRequest& baseline) {
    baseline_ = baseline;
    showRequest();
}

void PlanEditor::setJob(const Job& job) {
    for (const auto& [name, row] : rows_) row->setResolved(qt(resolvedText(job, name)));
}

void PlanEditor::setMessages(const std::vector<FieldMessage>& messages) {
    messages_ = messages;
    std::map<std::string, QString, std::less<>> texts;
    for (const FieldMessage& message : messages) {
        const bool known = rows_.contains(message.field);
        QString& text = texts[known ? message.field : std::string()];
        text += (text.isEmpty() ? QString() : QStringLiteral("\n")) + qt(message.text);
    }
    for (const auto& [name, row] : rows_) row->setMessage(texts[name]);
    general_->setText(texts[""]);
    general_->setVisible(!texts[""].isEmpty());
    if (!messages.empty()) {
        const auto first = rows_.find(messages.front().field);
        if (first != rows_.end()) ensureWidgetVisible(first->second);
    }
}

std::vector<FieldMessage> PlanEditor::shownMessages() const {
    std::vector<FieldMessage> shown;
    for (const auto& [name, row] : rows_) {
        if (!row->message().isEmpty()) shown.push_back({name, row->message().toStdString()});
    }
    if (!general_->text().isEmpty()) shown.push_back({"", general_->text().toStdString()});
    return shown;
}

void PlanEditor::setTheme(ThemeKind kind) {
    const QString color = theme(kind).late.name();
    const QString style = QStringLiteral("QLabel#fieldMessage { color: %1; }").arg(color);
    widget()->setStyleSheet(style);
}

void PlanEditor::undo() {
    if (!history_.canUndo()) return;
    history_.undo();
    settle();
}

void PlanEditor::redo() {
    if (!history_.canRedo()) return;
    history_.redo();
    settle();
}

/// A text that is not of the field's type stays in its editor, with a message, and the plan stays as it was.
void PlanEditor::change(const QString& field, const QString& text) {
    try {
        JobRequest next = with_value(history_.current(), field.toStdString(), text.toStdString());
        if (request_value(next, field.toStdString()) == request_value(history_.current(), field.toStdString())) return;
        history_.push(std::move(next));
    } catch (const InputError& error) {
        setMessages({messageOf(error.source(), error.what())});
        return;
    }
    settle();
}

void PlanEditor::settle() {
    showRequest();
    emit requestChanged();
}

void PlanEditor::showRequest() {
    for (const auto& [name, row] : rows_) {
        const std::string text = request_value(history_.current(), name);
        row->setText(qt(text));
        row->setChanged(text != request_value(baseline_, name));
    }
}

}  // namespace foreshard::gui
