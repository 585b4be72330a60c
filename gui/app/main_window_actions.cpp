#include <QAction>
#include <QActionGroup>
#include <QDialog>
#include <QDockWidget>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QTextBrowser>
#include <QToolBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/app/command_palette.hpp"
#include "gui/app/help_text.hpp"
#include "gui/app/main_window.hpp"
#include "gui/editor/plan_editor.hpp"
#include "gui/timeline/timeline_view.hpp"
#include "sim/spec/catalogue.hpp"

/// Menus, tool bar, commands.
namespace foreshard::gui {

template <class Slot>
QAction* MainWindow::addCommand(QMenu* menu, const QString& text, const QKeySequence& keys, Slot slot) {
    auto* action = new QAction(text, this);
    action->setShortcut(keys);
    connect(action, &QAction::triggered, this, slot);
    menu->addAction(action);
    commands_ << action;
    return action;
}

template <class Slot>
void MainWindow::addTimelineCommand(QMenu* menu, const QString& text, const char* key, Slot slot) {
    auto* action = new QAction(tr("%1 (%2)").arg(text, QString::fromLatin1(key)), this);
    connect(action, &QAction::triggered, views_.timeline, slot);
    menu->addAction(action);
    commands_ << action;
}

void MainWindow::buildActions() {
    buildFileMenu();
    buildEditMenu();
    buildViewMenu();
    buildGoMenu();
    buildHelpMenu();
    buildToolBar();
}

void MainWindow::buildFileMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&File"));
    addCommand(menu, tr("&Open job, report, trace or search..."), QKeySequence::Open, &MainWindow::chooseFiles);
    QMenu* plans = menu->addMenu(tr("Open a &plan of the catalogue"));
    for (const CatalogueEntry& entry : catalogue("plans")) {
        const std::string id(entry.id);
        addCommand(plans, QString::fromStdString(id), {}, [this, id] { open({.source = id}); });
    }
    recentMenu_ = menu->addMenu(tr("&Recent"));
    connect(recentMenu_, &QMenu::aboutToShow, this, &MainWindow::fillRecentMenu);
    menu->addSeparator();
    addCommand(menu, tr("Open session..."), {}, &MainWindow::chooseSession);
    addCommand(menu, tr("&Save session..."), QKeySequence::Save, &MainWindow::chooseSessionToSave);
    QMenu* exports = menu->addMenu(tr("&Export"));
    for (const PaintedView& view : paintedViews(views_)) {
        const QString name = view.name;
        addCommand(exports, tr("Export %1 as PNG, SVG or PDF...").arg(name), {}, [this, name] { chooseExport(name); });
    }
    addCommand(exports, tr("Export report as HTML..."), {}, &MainWindow::chooseHtml);
    addCommand(exports, tr("Export found plans as JSON..."), {}, &MainWindow::chooseSearchFile);
    menu->addSeparator();
    addCommand(menu, tr("&Quit"), QKeySequence::Quit, &MainWindow::close);
}

void MainWindow::fillRecentMenu() {
    recentMenu_->clear();
    for (const QString& source : recent_) {
        recentMenu_->addAction(source, this, [this, source] { open({.source = source.toStdString()}); });
    }
    recentMenu_->setEnabled(true);
    if (recent_.isEmpty()) recentMenu_->addAction(tr("nothing was opened yet"))->setEnabled(false);
}

void MainWindow::buildEditMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&Edit"));
    undo_ = addCommand(menu, tr("&Undo"), QKeySequence::Undo, [this] { editor_->undo(); });
    redo_ = addCommand(menu, tr("&Redo"), QKeySequence::Redo, [this] { editor_->redo(); });
    menu->addSeparator();
    addCommand(menu, tr("&Pin as baseline"), QKeySequence("Ctrl+B"), &MainWindow::pinBaseline);
    addCommand(menu, tr("Copy &flags"), QKeySequence("Ctrl+Shift+C"), &MainWindow::copyFlags);
    addCommand(menu, tr("Compare with the plan &without bubbles"), {}, [this] {
        const Document* document = workspace_.editedDocument();
        if (!document) return;
        workspace_.add(bubbleFree(*document));
        showWorkspace();
        setMode(TimelineMode::stack);
    });
    menu->addSeparator();
    addCommand(menu, tr("&Find span"), QKeySequence("/"), [this] {
        findLine_->setFocus();
        findLine_->selectAll();
    });
    addCommand(menu, tr("&Edit plan"), QKeySequence("Ctrl+E"), [this] {
        planDock_->show();
        editor_->setFocus();
        editor_->widget()->findChild<QWidget*>("model")->setFocus();
    });
    addCommand(menu, tr("&Search plans..."), QKeySequence("Ctrl+R"), &MainWindow::showSearch);
    addCommand(menu, tr("Cancel work"), QKeySequence("Ctrl+."), &MainWindow::cancelWork);
}

void MainWindow::addModeAction(const QString& text, TimelineMode mode, QMenu* menu) {
    QAction* action = addCommand(menu, text, {}, [this, mode] { setMode(mode); });
    action->setCheckable(true);
    action->setData(static_cast<int>(mode));
    modes_->addAction(action);
}

void MainWindow::addThemeAction(const QString& text, ThemeKind kind, QMenu* menu) {
    QAction* action = addCommand(menu, text, {}, [this, kind] { setThemeKind(kind); });
    action->setCheckable(true);
    action->setData(static_cast<int>(kind));
    themes_->addAction(action);
}

void MainWindow::buildViewMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&View"));
    modes_ = new QActionGroup(this);
    addModeAction(tr("Single"), TimelineMode::single, menu);
    addModeAction(tr("Stack"), TimelineMode::stack, menu);
    addModeAction(tr("Diff"), TimelineMode::diff, menu);
    addModeAction(tr("Overlay"), TimelineMode::overlay, menu);
    menu->addSeparator();
    themes_ = new QActionGroup(this);
    addThemeAction(tr("Light theme"), ThemeKind::light, menu);
    addThemeAction(tr("Dark theme"), ThemeKind::dark, menu);
    addThemeAction(tr("High-contrast theme"), ThemeKind::high_contrast, menu);
    menu->addSeparator();
    addCommand(menu, tr("Room for the timeline"), QKeySequence("Ctrl+1"),
               [this] { setWindowView(WindowView::timeline); });
    addCommand(menu, tr("Room for memory"), QKeySequence("Ctrl+2"), [this] { setWindowView(WindowView::memory); });
    addCommand(menu, tr("Room for the comparison"), QKeySequence("Ctrl+3"),
               [this] { setWindowView(WindowView::compare); });
    addCommand(menu, tr("Room for found plans"), QKeySequence("Ctrl+4"), [this] { setWindowView(WindowView::search); });
    menu->addSeparator();
    for (QDockWidget* dock : {planDock_, inspectorDock_, tabDock_}) {
        QAction* action = dock->toggleViewAction();
        action->setText(tr("Show %1").arg(dock->windowTitle()));
        menu->addAction(action);
        commands_ << action;
    }
}

void MainWindow::buildGoMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&Go"));
    addTimelineCommand(menu, tr("Fit selection or step"), "F", &TimelineView::fitSelection);
    addTimelineCommand(menu, tr("Show all"), "0", &TimelineView::showAll);
    addTimelineCommand(menu, tr("Zoom in"), "W", &TimelineView::zoomIn);
    addTimelineCommand(menu, tr("Zoom out"), "S", &TimelineView::zoomOut);
    addTimelineCommand(menu, tr("Pan left"), "A", &TimelineView::panLeft);
    addTimelineCommand(menu, tr("Pan right"), "D", &TimelineView::panRight);
    menu->addSeparator();
    addTimelineCommand(menu, tr("Next span"), ".", &TimelineView::selectNext);
    addTimelineCommand(menu, tr("Previous span"), ",", &TimelineView::selectPrevious);
    addTimelineCommand(menu, tr("What it waited for"), "[", &TimelineView::followInput);
    addTimelineCommand(menu, tr("What waits for it"), "]", &TimelineView::followOutput);
    addTimelineCommand(menu, tr("Next-largest bubble"), "B", &TimelineView::selectNextBubble);
    addTimelineCommand(menu, tr("Larger bubble"), "Shift+B", &TimelineView::selectPreviousBubble);
    menu->addSeparator();
    addTimelineCommand(menu, tr("Critical path"), "C", &TimelineView::toggleCriticalPath);
    addTimelineCommand(menu, tr("Mark"), "M", &TimelineView::toggleMark);
    addTimelineCommand(menu, tr("Pin row"), "P", &TimelineView::togglePin);
    addTimelineCommand(menu, tr("Show lanes of the rank"), "E", &TimelineView::toggleExpanded);
    addTimelineCommand(menu, tr("Show all lanes"), "Shift+E", &TimelineView::toggleAllExpanded);
    addTimelineCommand(menu, tr("Clear selection"), "Esc", &TimelineView::clear);
}

void MainWindow::buildHelpMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&Help"));
    addCommand(menu, tr("&Keys and views"), QKeySequence("?"), &MainWindow::showHelp);
    addCommand(menu, tr("All &commands"), QKeySequence("Ctrl+Shift+P"), &MainWindow::showCommands);
}

void MainWindow::buildToolBar() {
    QToolBar* bar = addToolBar(tr("Tools"));
    bar->setObjectName("tools");
    bar->setMovable(false);
    bar->setToolButtonStyle(Qt::ToolButtonTextOnly);
    bar->addAction(commands_.front());
    commands_.front()->setIconText(tr("Open"));
    bar->addSeparator();
    for (QAction* action : modes_->actions()) bar->addAction(action);
    bar->addSeparator();
    bar->addAction(undo_);
    bar->addAction(redo_);
    bar->addSeparator();
    findLine_ = new QLineEdit(bar);
    findLine_->setPlaceholderText(tr("Find: 2F3, mb 3 ( / )"));
    findLine_->setAccessibleName(tr("Find span"));
    findLine_->setClearButtonEnabled(true);
    findLine_->setMaximumWidth(240);
    findLine_->installEventFilter(this);
    bar->addWidget(findLine_);
}

void MainWindow::showHelp() {
    auto* dialog = new QDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Keys and views"));
    auto* text = new QTextBrowser(dialog);
    text->setHtml(QString::fromStdString(helpHtml()));
    text->setAccessibleName(tr("Help"));
    auto* column = new QVBoxLayout(dialog);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(text);
    dialog->resize(640, 680);
    dialog->show();
}

}  // namespace foreshard::gui
