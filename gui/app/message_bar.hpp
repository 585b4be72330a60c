#pragma once

#include <QFrame>
#include <QStringList>

#include "gui/theme.hpp"

class QLabel;

namespace foreshard::gui {

/// Errors and warnings above the views, in the way of nothing, until they are read.
class MessageBar : public QFrame {
    Q_OBJECT

public:
    explicit MessageBar(QWidget* parent = nullptr);

    enum class Severity { warning, error };
    /// Messages stack; equal ones stand once.
    void show(Severity severity, const QString& text);
    void setTheme(ThemeKind kind);
    QStringList messages() const { return messages_; }
    /// The worst of them.
    Severity severity() const { return worst_; }

public slots:
    void clear();

private:
    void update();

    QStringList messages_;
    Severity worst_ = Severity::warning;
    ThemeKind theme_ = ThemeKind::light;
    QLabel* label_ = nullptr;
};

}  // namespace foreshard::gui
