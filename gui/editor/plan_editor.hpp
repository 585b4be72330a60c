#pragma once

#include <QScrollArea>
#include <map>
#include <string>
#include <vector>

#include "gui/editor/field_row.hpp"
#include "gui/editor/plan_fields.hpp"
#include "gui/theme.hpp"

class QLabel;

namespace foreshard::gui {

/// Every field of a plan, with what is wrong beside it. Says what was edited; whoever listens simulates.
class PlanEditor : public QScrollArea {
    Q_OBJECT

public:
    explicit PlanEditor(QWidget* parent = nullptr);

    /// A request to edit; earlier edits cannot be undone any more.
    void setRequest(const JobRequest& request);
    void setEditable(bool editable);
    const JobRequest& request() const { return history_.current(); }
    /// Fields that differ from it are marked.
    void setBaseline(const JobRequest& baseline);
    /// What defaults came to.
    void setJob(const Job& job);
    void setMessages(const std::vector<FieldMessage>& messages);
    std::vector<FieldMessage> shownMessages() const;
    void setTheme(ThemeKind kind);

    bool canUndo() const { return history_.canUndo(); }
    bool canRedo() const { return history_.canRedo(); }

public slots:
    void undo();
    void redo();
    void change(const QString& field, const QString& text);

signals:
    void requestChanged();

private:
    void addGroup(const FieldGroup& group, QWidget* page);
    void showRequest();
    void settle();

    History history_;
    JobRequest baseline_;
    std::map<std::string, FieldRow*, std::less<>> rows_;
    std::vector<FieldMessage> messages_;
    QLabel* general_ = nullptr;  ///< messages that belong to no field
};

}  // namespace foreshard::gui
