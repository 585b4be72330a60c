#include "gui/plans/search_panel.hpp"

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/charts/draw.hpp"

namespace foreshard::gui {

namespace {

QLabel* wrappedLabel(QWidget* parent) {
    auto* label = new QLabel(parent);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->hide();
    return label;
}

void showText(QLabel& label, const QString& text) {
    label.setText(text);
    label.setVisible(!text.isEmpty());
}

}  // namespace

SearchPanel::SearchPanel(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Search for plans"));
    auto* page = new QWidget(this);
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(tight_margin, 0, tight_margin, tight_margin);
    column->setSpacing(3);
    button_ = new QPushButton(page);
    button_->setObjectName("search");
    connect(button_, &QPushButton::clicked, this, [this] { searching_ ? emit stopAsked() : emit searchAsked(); });
    bar_ = new QProgressBar(page);
    bar_->setRange(0, 1000);
    bar_->setAccessibleName(tr("Progress of the search"));
    subject_ = wrappedLabel(page);
    progress_ = wrappedLabel(page);
    general_ = wrappedLabel(page);
    general_->setObjectName("fieldMessage");
    for (QWidget* widget :
         {static_cast<QWidget*>(button_), static_cast<QWidget*>(bar_), static_cast<QWidget*>(progress_),
          static_cast<QWidget*>(general_), static_cast<QWidget*>(subject_)}) {
        column->addWidget(widget);
    }
    for (const FieldGroup& group : searchFieldGroups()) addGroup(group, page, column);
    column->addStretch(1);
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(page);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setMinimumWidth(page->minimumSizeHint().width() + scroll->verticalScrollBar()->sizeHint().width());
    auto* box = new QVBoxLayout(this);
    box->setContentsMargins(0, 0, 0, 0);
    box->addWidget(scroll);
    setFocusProxy(button_);
    setSearching(false);
}

void SearchPanel::addGroup(const FieldGroup& group, QWidget* page, QVBoxLayout* column) {
    auto* body = new QWidget(page);
    auto* rows = new QVBoxLayout(body);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(2);
    for (const PlanField& field : group.fields) {
        auto* row = new FieldRow(field, body);
        connect(row, &FieldRow::edited, this, &SearchPanel::change);
        rows->addWidget(row);
        rows_[std::string(field.name)] = row;
    }
    if (!group.open) {
        auto* head = new QToolButton(page);
        head->setText(qt(group.title));
        head->setCheckable(true);
        head->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        head->setArrowType(Qt::RightArrow);
        head->setAutoRaise(true);
        connect(head, &QToolButton::toggled, body, [head, body](bool open) {
            body->setVisible(open);
            head->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
        });
        column->addWidget(head);
        body->hide();
    }
    column->addWidget(body);
}

void SearchPanel::setTexts(const SearchTexts& texts) {
    texts_ = texts;
    for (const auto& [name, row] : rows_) {
        const auto text = texts.find(name);
        row->setText(text == texts.end() ? QString() : qt(text->second));
    }
}

void SearchPanel::change(const QString& field, const QString& text) {
    const std::string name = field.toStdString();
    const auto row = rows_.find(name);
    if (row == rows_.end()) return;
    row->second->setText(text);
    if (text.isEmpty()) {
        texts_.erase(name);
    } else {
        texts_[name] = text.toStdString();
    }
    emit changed();
    if (!check_) return;
    try {
        check_(texts_);
        setMessages({});
    } catch (const InputError& error) {
        setMessages({searchMessageOf(error.source(), error.what())});
    }
}

void SearchPanel::setSubject(const QString& job, const QString& freed) {
    showText(*subject_, freed.isEmpty() ? job : tr("%1. Left free: %2").arg(job, freed));
}

void SearchPanel::setMessages(const std::vector<FieldMessage>& messages) {
    std::map<std::string, QString, std::less<>> texts;
    for (const FieldMessage& message : messages) {
        QString& text = texts[rows_.contains(message.field) ? message.field : std::string()];
        text += (text.isEmpty() ? QString() : QStringLiteral("\n")) + qt(message.text);
    }
    for (const auto& [name, row] : rows_) row->setMessage(texts[name]);
    showText(*general_, texts[""]);
}

std::vector<FieldMessage> SearchPanel::shownMessages() const {
    std::vector<FieldMessage> shown;
    for (const auto& [name, row] : rows_) {
        if (!row->message().isEmpty()) shown.push_back({name, row->message().toStdString()});
    }
    if (!general_->text().isEmpty()) shown.push_back({"", general_->text().toStdString()});
    return shown;
}

void SearchPanel::setSearching(bool searching) {
    searching_ = searching;
    button_->setText(searching ? tr("Stop, keep the best so far") : tr("Search plans"));
    bar_->setVisible(searching);
    bar_->setValue(0);
    showText(*progress_, QString());
}

void SearchPanel::setProgress(double doneRatio, const QString& text) {
    if (!searching_) return;
    bar_->setValue(static_cast<int>(1000.0 * doneRatio));
    showText(*progress_, text);
}

void SearchPanel::setEnd(const QString& text) {
    if (!searching_) showText(*progress_, text);
}

QString SearchPanel::progressText() const {
    return progress_->text();
}

void SearchPanel::setTheme(ThemeKind kind) {
    setStyleSheet(QStringLiteral("QLabel#fieldMessage { color: %1; }").arg(theme(kind).late.name()));
}

}  // namespace foreshard::gui
