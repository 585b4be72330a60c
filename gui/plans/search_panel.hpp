#pragma once

#include <QWidget>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gui/editor/field_row.hpp"
#include "gui/plans/search_fields.hpp"
#include "gui/theme.hpp"

class QLabel;
class QProgressBar;
class QPushButton;
class QVBoxLayout;

namespace foreshard::gui {

/// What a search is asked for, its button, and how far it is. Whoever listens searches.
class SearchPanel : public QWidget {
    Q_OBJECT

public:
    explicit SearchPanel(QWidget* parent = nullptr);

    const SearchTexts& texts() const { return texts_; }
    /// Of texts as they are changed; throws InputError for what cannot be right.
    using Check = std::function<void(const SearchTexts&)>;
    void setCheck(Check check) { check_ = std::move(check); }
    /// Precondition: every name isSearchField.
    void setTexts(const SearchTexts& texts);
    /// What is searched for, and what of the plan is left free.
    void setSubject(const QString& job, const QString& freed);
    void setMessages(const std::vector<FieldMessage>& messages);
    std::vector<FieldMessage> shownMessages() const;
    /// While it searches, the button stops it.
    void setSearching(bool searching);
    void setProgress(double doneRatio, const QString& text);
    QString progressText() const;
    void setEnd(const QString& text);  ///< of the last search; shown until the next one says how far it is
    void setTheme(ThemeKind kind);

signals:
    void searchAsked();
    void changed();
    void stopAsked();

public slots:
    void change(const QString& field, const QString& text);

private:
    void addGroup(const FieldGroup& group, QWidget* page, QVBoxLayout* column);

    SearchTexts texts_;
    Check check_;
    bool searching_ = false;
    std::map<std::string, FieldRow*, std::less<>> rows_;
    QLabel* subject_ = nullptr;
    QLabel* general_ = nullptr;  ///< messages that belong to no field
    QPushButton* button_ = nullptr;
    QProgressBar* bar_ = nullptr;
    QLabel* progress_ = nullptr;
};

}  // namespace foreshard::gui
