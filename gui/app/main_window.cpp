#include "gui/app/main_window.hpp"

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QScrollBar>
#include <QTextBrowser>
#include <QToolButton>
#include <QUrl>

#include <fmt/format.h>

#include "gui/app/command_palette.hpp"
#include "gui/app/find_span.hpp"
#include "gui/app/inspector_text.hpp"
#include "gui/app/palette_of.hpp"
#include "gui/app/run_list.hpp"
#include "gui/editor/plan_editor.hpp"
#include "gui/plans/plans_view.hpp"
#include "gui/timeline/timeline_view.hpp"
#include "sim/error.hpp"
#include "sim/result/text_format.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard::gui {

WindowView windowView(std::string_view name) {
    if (name == "timeline") return WindowView::timeline;
    if (name == "memory") return WindowView::memory;
    if (name == "compare") return WindowView::compare;
    if (name == "search") return WindowView::search;
    throw InputError("--view", "", fmt::format("'{}' is none of timeline, memory, compare, search", name));
}

MainWindow::MainWindow(Persistence persistence, QWidget* parent) : QMainWindow(parent), persistence_(persistence) {
    setWindowTitle("Foreshard");
    setAcceptDrops(true);
    setFont(viewFont());
    resize(1440, 900);
    views_ = makeViews(state_, this);
    buildCentre();
    buildPlanDock();
    buildInspectorDock();
    buildTabDock();
    buildStatusBar();
    palette_ = new CommandPalette(this);
    buildActions();
    connectParts();
    restoreLayout();
    setThemeKind(theme_);
    showWorkspace();
    views_.timeline->setFocus();
}

MainWindow::~MainWindow() {
    showRuns(views_, {});  // documents go before the widgets
}

void MainWindow::connectParts() {
    connect(editor_, &PlanEditor::requestChanged, this, &MainWindow::onEdited);
    connect(&runner_, &JobRunner::finished, this, &MainWindow::onSimulated);
    connect(&runner_, &JobRunner::busyChanged, this, &MainWindow::updateBusy);
    connect(&opener_, &FileOpener::opened, this, &MainWindow::onOpened);
    connect(&opener_, &FileOpener::waitingChanged, this, &MainWindow::updateBusy);
    connect(&sessionOpener_, &FileOpener::opened, this, &MainWindow::onSessionOpened);
    connect(&sessionOpener_, &FileOpener::waitingChanged, this, &MainWindow::updateBusy);
    connect(&state_, &ViewState::selectionChanged, this, &MainWindow::updateInspector);
    connect(&state_, &ViewState::cursorChanged, this, &MainWindow::updateStatus);
    connect(views_.timeline, &TimelineView::hovered, hoverLabel_, &QLabel::setText);
    connect(views_.timeline, &TimelineView::modeChanged, this, &MainWindow::updateModes);
    connect(views_.plans, &PlansView::planActivated, this, &MainWindow::openSearchPlan);
    connectSearch();
    // Queued: what follows makes the list anew, which is in the middle of a click.
    connect(
        runs_, &RunList::shownChanged, this,
        [this](int index, bool shown) {
            changeRuns([=](Workspace& w) { w.setShown(static_cast<std::size_t>(index), shown); });
        },
        Qt::QueuedConnection);
    connect(
        runs_, &RunList::chosen, this,
        [this](int index) { changeRuns([=](Workspace& w) { w.edit(static_cast<std::size_t>(index)); }); },
        Qt::QueuedConnection);
    connect(
        runs_, &RunList::baselineChosen, this,
        [this](int index) { changeRuns([=](Workspace& w) { w.makeFirst(static_cast<std::size_t>(index)); }); },
        Qt::QueuedConnection);
    connect(runs_, &RunList::closed, this, &MainWindow::closeRun, Qt::QueuedConnection);
}

void MainWindow::changeRuns(const std::function<void(Workspace&)>& change) {
    change(workspace_);
    showWorkspace();
}

void MainWindow::closeRun(int index) {
    if (index < 0 || static_cast<std::size_t>(index) >= workspace_.size()) return;
    const std::unique_ptr<Document> removed = workspace_.remove(static_cast<std::size_t>(index));
    showWorkspace();
}

void MainWindow::open(const OpenRequest& request) {
    opener_.open(request);
}

void MainWindow::onOpened() {
    if (std::optional<OpenResult> result = opener_.take()) add(std::move(*result));
}

void MainWindow::add(OpenResult result) {
    const bool findPlans = result.request.findPlans && !result.opened.documents.empty();
    if (!take(std::move(result))) return;
    if (workspace_.shown().size() > 1 && views_.timeline->mode() == TimelineMode::single) setMode(TimelineMode::stack);
    showWorkspace();
    if (findPlans) startSearch();
}

bool MainWindow::take(OpenResult result) {
    const QString source = QString::fromStdString(result.request.source);
    if (!result.error.empty()) {
        report(MessageBar::Severity::error, QString::fromStdString(result.error));
        return false;
    }
    for (Document& document : result.opened.documents) {
        for (const std::string& warning : document.warnings) {
            report(MessageBar::Severity::warning, QString::fromStdString(document.name + ": " + warning));
        }
        workspace_.add(std::move(document));
    }
    if (result.opened.search) addSearch(std::move(*result.opened.search), source);
    if (!source.isEmpty()) remember(source);
    return true;
}

void MainWindow::onEdited() {
    const Document* document = workspace_.editedDocument();
    undo_->setEnabled(editor_->canUndo());
    redo_->setEnabled(editor_->canRedo());
    editor_->setMessages({});
    updateSubject();
    runner_.submit(document ? document->name : "plan", editor_->request());
}

/// The old run stays on the screen until the new one is there; a plan that cannot run leaves it there, with the reason
/// beside the field.
void MainWindow::onSimulated() {
    std::optional<Outcome> outcome = runner_.take();
    if (!outcome) return;
    std::vector<FieldMessage> fields = messagesOf(outcome->broken);
    if (!outcome->error.empty()) fields.push_back(messageOf(outcome->flag, outcome->error));
    editor_->setMessages(fields);
    if (!outcome->document) {
        updateStatus();
        return;
    }
    messages_->clear();
    for (const std::string& warning : outcome->document->warnings) {
        report(MessageBar::Severity::warning, QString::fromStdString(warning));
    }
    std::unique_ptr<Document> old;
    if (const Document* edited = workspace_.editedDocument()) {
        outcome->document->source = edited->source;
        outcome->document->base = edited->base;
        old = workspace_.replaceEdited(std::move(*outcome->document));
    } else {
        outcome->document->base = {};
        workspace_.add(std::move(*outcome->document));
    }
    showWorkspace();
}

void MainWindow::showWorkspace() {
    comparison_.reset();
    const std::vector<const Run*> shown = workspace_.shownRuns();
    const Selection selection = state_.selection();
    const bool lost = selection.kind != Selection::Kind::none &&
                      (selection.run >= shown.size() ||
                       selection.span >= std::max<std::size_t>(1, shown[selection.run]->spans.size()));
    if (lost) state_.select({});
    showRuns(views_, shown);
    runs_->show(workspace_);
    const Document* edited = workspace_.editedDocument();
    if (edited && request_flags(editor_->request()) != request_flags(*edited->request))
        editor_->setRequest(*edited->request);
    const std::vector<const Document*> documents = workspace_.shown();
    const Document* baseline = documents.empty() ? nullptr : documents.front();
    if (edited && baseline && baseline != edited && baseline->request) {
        editor_->setBaseline(*baseline->request);
    } else if (edited) {
        editor_->setBaseline(edited->base);
    }
    if (edited && edited->evaluation) editor_->setJob(edited->evaluation->job);
    undo_->setEnabled(editor_->canUndo());
    redo_->setEnabled(editor_->canRedo());
    setWindowTitle(edited ? QString::fromStdString(edited->name) + " \u2013 Foreshard" : QStringLiteral("Foreshard"));
    updateModes();
    updateSubject();
    updateInspector();
    updateLog();
    updateStatus();
}

const Comparison* MainWindow::comparison() {
    const std::vector<const Run*> shown = workspace_.shownRuns();
    if (shown.size() < 2) return nullptr;
    if (!comparison_) comparison_ = compare(*shown[0], *shown[1]);
    return &*comparison_;
}

void MainWindow::updateInspector() {
    const Selection& selection = state_.selection();
    const Comparison* pairs = selection.kind == Selection::Kind::span ? comparison() : nullptr;
    inspector_->setHtml(QString::fromStdString(inspectorHtml(workspace_.shown(), selection, pairs)));
}

void MainWindow::updateLog() {
    QStringList lines = log_;
    for (const Document* document : workspace_.shown()) {
        lines << QString::fromStdString(document->name + " - " + document->run.provenance);
        for (const std::string& note : document->run.notes) lines << "    " + QString::fromStdString(note);
    }
    logView_->setPlainText(lines.join('\n'));
}

void MainWindow::updateStatus() {
    std::size_t spans = 0;
    for (const Run* run : workspace_.shownRuns()) spans += run->spans.size();
    QString text = tr("%L1 spans").arg(spans);
    if (runner_.latencyMs() > 0.0) text += tr(" \u00B7 simulated in %1 ms").arg(runner_.latencyMs(), 0, 'f', 0);
    countLabel_->setText(text);
    const std::vector<const Run*> shown = workspace_.shownRuns();
    const auto cursor = state_.cursor();
    cursorLabel_->setText(cursor && !shown.empty()
                              ? QString::fromStdString(fmt::format(
                                    "t = {:.3f} ms", to_milliseconds(*cursor - shown[0]->spans.window_begin)))
                              : QString());
}

bool MainWindow::busy() const {
    return opener_.waiting() > 0 || sessionOpener_.waiting() > 0 || runner_.busy() || searcher_.busy();
}

void MainWindow::updateBusy() {
    const int files = opener_.waiting() + sessionOpener_.waiting();
    progress_->setVisible(busy());
    cancel_->setVisible(busy());
    progress_->setFormat(files > 0        ? tr("opening %n file(s)", nullptr, files)
                         : runner_.busy() ? tr("simulating")
                                          : tr("searching"));
}

void MainWindow::updateModes() {
    const auto mode = static_cast<int>(views_.timeline->mode());
    for (QAction* action : modes_->actions()) {
        action->setChecked(action->data().toInt() == mode);
        action->setEnabled(action->data().toInt() == 0 || workspace_.shown().size() > 1);
    }
}

void MainWindow::setMode(TimelineMode mode) {
    views_.timeline->setMode(mode);
    updateModes();
}

void MainWindow::report(MessageBar::Severity severity, const QString& text) {
    messages_->show(severity, text);
    log_ << (severity == MessageBar::Severity::error ? tr("error: ") : tr("warning: ")) + text;
    updateLog();
}

void MainWindow::setThemeKind(ThemeKind kind) {
    theme_ = kind;
    const Theme& colors = theme(kind);
    QApplication::setPalette(paletteOf(colors));
    setStyleSheet(styleSheetOf(colors));
    showTheme(views_, kind);
    messages_->setTheme(kind);
    editor_->setTheme(kind);
    for (QAction* action : themes_->actions()) action->setChecked(action->data().toInt() == static_cast<int>(kind));
}

void MainWindow::pinBaseline() {
    if (!workspace_.edited()) return;
    workspace_.pinEdited();
    showWorkspace();
    setMode(TimelineMode::diff);
}

/// "mb 3" lights a micro-batch; anything else is a span's name or a part of it.
void MainWindow::find(const QString& text, bool backward) {
    const std::vector<const Run*> shown = workspace_.shownRuns();
    if (shown.empty() || text.trimmed().isEmpty()) return;
    const QString wanted = text.trimmed();
    if (wanted.startsWith("mb")) {
        bool number = false;
        const int microbatch = wanted.mid(2).trimmed().toInt(&number);
        if (number) return state_.lightMicrobatch(microbatch);
    }
    const Selection& selection = state_.selection();
    const std::size_t run = views_.timeline->scene().drawnRun();
    const bool here = selection.kind == Selection::Kind::span && selection.run == run;
    const auto found =
        findSpan(shown[run]->spans, wanted.toStdString(), here ? std::optional(selection.span) : std::nullopt,
                 backward ? FindDirection::backward : FindDirection::forward);
    if (found) {
        views_.timeline->revealSpan(run, *found);
    } else {
        hoverLabel_->setText(tr("no span is called '%1'").arg(wanted));
    }
}

void MainWindow::showCommands() {
    palette_->open(commands_);
}

void MainWindow::cancelWork() {
    runner_.cancel();
    searcher_.stop();
    opener_.cancel();
    pending_.reset();
    sessionOpener_.cancel();
    hoverLabel_->setText(tr("cancelled"));
    updateBusy();
}

void MainWindow::copyFlags() {
    QApplication::clipboard()->setText(QString::fromStdString(request_flags(editor_->request())));
    hoverLabel_->setText(tr("flags copied"));
}

QString MainWindow::inspectorText() const {
    return inspector_->toPlainText();
}

QString MainWindow::logText() const {
    return logView_->toPlainText();
}

/// Widgets inherit the window's font, which is the application's in size; but not while it has a style sheet.
bool MainWindow::event(QEvent* event) {
    if (event->type() == QEvent::ApplicationFontChange) {
        setStyleSheet({});
        setFont(viewFont());
        setStyleSheet(styleSheetOf(theme(theme_)));
    }
    return QMainWindow::event(event);
}

void MainWindow::closeEvent(QCloseEvent* event) {
    saveLayout();
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    for (const QUrl& url : event->mimeData()->urls()) open({.source = url.toLocalFile().toStdString()});
    event->acceptProposedAction();
}

/// Keys that nobody else wants are the timeline's.
void MainWindow::keyPressEvent(QKeyEvent* event) {
    if (forwarding_ || views_.timeline->hasFocus()) return QMainWindow::keyPressEvent(event);
    forwarding_ = true;
    QCoreApplication::sendEvent(views_.timeline, event);
    forwarding_ = false;
}

bool MainWindow::eventFilter(QObject* watched, QEvent* event) {
    if (watched == findLine_ && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
            find(findLine_->text(), key->modifiers().testFlag(Qt::ShiftModifier));
            return true;
        }
        if (key->key() == Qt::Key_Escape) {
            views_.timeline->setFocus();
            return true;
        }
    }
    return QMainWindow::eventFilter(watched, event);
}

}  // namespace foreshard::gui
