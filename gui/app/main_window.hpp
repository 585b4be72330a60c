#pragma once

#include <QList>
#include <QMainWindow>
#include <QStringList>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "gui/app/file_opener.hpp"
#include "gui/app/job_runner.hpp"
#include "gui/app/message_bar.hpp"
#include "gui/app/search_runner.hpp"
#include "gui/app/views.hpp"
#include "gui/app/workspace.hpp"
#include "gui/view_state.hpp"
#include "sim/result/compare.hpp"

class QActionGroup;
class QDockWidget;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QProgressBar;
class QSplitter;
class QTabWidget;
class QTextBrowser;
class QToolButton;

namespace foreshard::gui {

class CommandPalette;
class PlanEditor;
class RunList;
enum class TimelineMode : std::uint8_t;

/// What the window gives most room to.
enum class WindowView { timeline, memory, compare, search };
/// @throws InputError for an unknown name; names: timeline, memory, compare, search
WindowView windowView(std::string_view name);

/// The program's window: plan editor, figures, timeline, memory, inspector, tables.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    /// settings: layout, theme and recent files are kept for the next time.
    enum class Persistence { none, settings };
    explicit MainWindow(Persistence persistence, QWidget* parent = nullptr);
    ~MainWindow() override;

    void open(const OpenRequest& request);  ///< on a worker thread
    void add(OpenResult result);            ///< what was opened
    void setWindowView(WindowView view);
    void setThemeKind(ThemeKind kind);
    ThemeKind themeKind() const { return theme_; }

    /// The view of this name (as in the menu Export) to a .png, .svg or .pdf; errors go to the bar.
    void exportView(const QString& name, const QString& path);
    void exportHtml(const QString& path);
    void exportWindow(const QString& path);  ///< PNG
    void exportSearch(const QString& path);  ///< what a search in the window found, as foreshard.search
    void saveSession(const QString& path);
    /// Its sources are opened on a worker thread; then it replaces what is open, all at once.
    void openSession(const QString& path);
    bool busy() const;  ///< opening, simulating or searching

    const Workspace& workspace() const { return workspace_; }
    const Views& views() const { return views_; }
    PlanEditor& editor() { return *editor_; }
    JobRunner& runner() { return runner_; }
    SearchRunner& searcher() { return searcher_; }
    MessageBar& messages() { return *messages_; }
    ViewState& state() { return state_; }
    QString inspectorText() const;
    QString logText() const;
    QList<QAction*> commands() const { return commands_; }

public slots:
    void pinBaseline();
    void find(const QString& text, bool backward);
    /// For plans of the edited job, under the panel's constraints; ends the search before.
    void startSearch();
    void showSearch();  ///< its panel
    void showCommands();
    void showHelp();
    void cancelWork();
    void copyFlags();

protected:
    bool event(QEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    /// A session on its way, with what its runs and then its searches became so far.
    struct PendingSession {
        Session session;
        std::vector<OpenResult> results;
        std::size_t wanted() const { return session.runs.size() + session.searches.size(); }
    };

    // main_window_layout.cpp
    void buildCentre();
    void buildPlanDock();
    void buildInspectorDock();
    void buildTabDock();
    void buildStatusBar();
    void restoreLayout();
    void saveLayout() const;

    // main_window_actions.cpp
    void buildActions();
    void buildFileMenu();
    void buildEditMenu();
    void buildViewMenu();
    void buildGoMenu();
    void buildHelpMenu();
    void buildToolBar();
    void addModeAction(const QString& text, TimelineMode mode, QMenu* menu);
    void addThemeAction(const QString& text, ThemeKind kind, QMenu* menu);
    template <class Slot>
    QAction* addCommand(QMenu* menu, const QString& text, const QKeySequence& keys, Slot slot);
    /// A command whose key the timeline listens to itself.
    template <class Slot>
    void addTimelineCommand(QMenu* menu, const QString& text, const char* key, Slot slot);
    void fillRecentMenu();

    // main_window_files.cpp
    void chooseFiles();
    void chooseSession();
    void chooseSessionToSave();
    void chooseExport(const QString& view);
    void chooseHtml();
    void remember(const QString& source);
    Picture pictureOf(const PaintedView& view) const;
    void onSessionOpened();
    void showSession();

    // main_window_search.cpp
    void connectSearch();
    const Job* editedJob() const;
    void updateSubject();
    void onSearchProgress(const SearchProgress& progress);
    void onPlansFound();
    void onPlansStreamed();
    void addSearch(ReadSearch search, const QString& source);
    void openSearchPlan(int plan);
    void chooseSearchFile();

    // main_window.cpp
    void connectParts();
    void onEdited();
    void onSimulated();
    void onOpened();
    bool take(OpenResult result);  ///< into the workspace; false: an error was reported
    void changeRuns(const std::function<void(Workspace&)>& change);
    void closeRun(int index);
    void showWorkspace();  ///< after any change of the workspace
    void updateInspector();
    void updateLog();
    void updateStatus();
    void updateBusy();
    void updateModes();
    void setMode(TimelineMode mode);
    void report(MessageBar::Severity severity, const QString& text);
    const Comparison* comparison();

    Persistence persistence_;
    ThemeKind theme_ = ThemeKind::light;
    ViewState state_;
    Workspace workspace_;
    Views views_;
    JobRunner runner_;
    FileOpener opener_;
    FileOpener sessionOpener_;
    SearchRunner searcher_;
    std::string foundText_;  ///< file of the plans that a search in the window found
    std::optional<PendingSession> pending_;
    std::optional<Comparison> comparison_;  ///< of A and B; made when first needed
    QStringList searches_;                  ///< files
    QStringList log_;

    PlanEditor* editor_ = nullptr;
    RunList* runs_ = nullptr;
    MessageBar* messages_ = nullptr;
    CommandPalette* palette_ = nullptr;
    QSplitter* splitter_ = nullptr;
    QTextBrowser* inspector_ = nullptr;
    QTabWidget* tabs_ = nullptr;
    QPlainTextEdit* logView_ = nullptr;
    QDockWidget* planDock_ = nullptr;
    QDockWidget* inspectorDock_ = nullptr;
    QDockWidget* tabDock_ = nullptr;
    QLineEdit* findLine_ = nullptr;
    QLabel* cursorLabel_ = nullptr;
    QLabel* hoverLabel_ = nullptr;
    QLabel* countLabel_ = nullptr;
    QProgressBar* progress_ = nullptr;
    QToolButton* cancel_ = nullptr;
    QMenu* recentMenu_ = nullptr;
    QActionGroup* modes_ = nullptr;
    QActionGroup* themes_ = nullptr;
    QAction* undo_ = nullptr;
    QAction* redo_ = nullptr;
    QList<QAction*> commands_;
    QStringList recent_;
    bool forwarding_ = false;  ///< a key on its way to the timeline
};

}  // namespace foreshard::gui
