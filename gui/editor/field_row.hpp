#pragma once

#include <QLabel>
#include <QSpinBox>
#include <QWidget>

#include "gui/editor/plan_fields.hpp"

class QComboBox;
class QLineEdit;

namespace foreshard::gui {

/// A whole number whose arrows double and halve; 0 means "by default".
class StepBox : public QSpinBox {
    Q_OBJECT

public:
    enum class Step { one, doubling };
    explicit StepBox(Step step, QWidget* parent = nullptr);

    /// The value that 0 stands for; arrows start there.
    void setDefault(int value) { default_ = value; }
    void stepBy(int steps) override;

protected:
    void wheelEvent(QWheelEvent* event) override;

private:
    Step step_;
    int default_ = 1;
};

/// Label, editor and message of one field of the plan.
class FieldRow : public QWidget {
    Q_OBJECT

public:
    explicit FieldRow(const PlanField& field, QWidget* parent = nullptr);

    const PlanField& field() const { return field_; }
    QString text() const;                   ///< empty: by default
    void setText(const QString& text);      ///< without signal
    void setResolved(const QString& text);  ///< what the default came to
    void setMessage(const QString& text);   ///< empty: none
    QString message() const { return message_->text(); }
    void setChanged(bool changed);  ///< against the baseline

signals:
    void edited(const QString& name, const QString& text);

private:
    void buildEditor();
    void addChoices();
    void emitEdited();

    PlanField field_;
    QLabel* label_ = nullptr;
    QLabel* message_ = nullptr;
    QComboBox* combo_ = nullptr;
    QLineEdit* line_ = nullptr;
    StepBox* spin_ = nullptr;
    QString sent_;  ///< what edited() said last, or setText()
};

}  // namespace foreshard::gui
