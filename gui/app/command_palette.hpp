#pragma once

#include <QAction>
#include <QFrame>
#include <QList>

class QLineEdit;
class QListWidget;

namespace foreshard::gui {

/// Letters of `typed` in their order somewhere in `text`, without case; lower is better, -1: not.
int matchScore(const QString& typed, const QString& text);

/// All commands in one list that narrows while one types.
class CommandPalette : public QFrame {
    Q_OBJECT

public:
    explicit CommandPalette(QWidget* parent);

    /// Shows it at the top of its parent. Disabled actions are left out.
    void open(const QList<QAction*>& actions);
    QStringList shown() const;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void narrow(const QString& typed);
    void run();

    QList<QAction*> actions_;
    QLineEdit* line_ = nullptr;
    QListWidget* list_ = nullptr;
};

}  // namespace foreshard::gui
