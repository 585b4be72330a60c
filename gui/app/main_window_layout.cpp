#include <QDockWidget>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QSplitter>
#include <QStatusBar>
#include <QTabWidget>
#include <QTextBrowser>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/app/kpi_strip.hpp"
#include "gui/app/main_window.hpp"
#include "gui/app/run_list.hpp"
#include "gui/compare/compare_view.hpp"
#include "gui/editor/plan_editor.hpp"
#include "gui/memory/memory_view.hpp"
#include "gui/plans/plans_view.hpp"
#include "gui/timeline/timeline_view.hpp"

/// Where things stand in the window.
namespace foreshard::gui {

namespace {

constexpr int layout_version = 1;

QDockWidget* makeDock(QMainWindow& window, const QString& title, const char* name, QWidget* content) {
    auto* dock = new QDockWidget(title, &window);
    dock->setObjectName(name);
    dock->setWidget(content);
    return dock;
}

/// Tab of the figure's reasons.
int tabOf(Figure figure) {
    switch (figure) {
        case Figure::exposed:
            return 5;  // collectives
        case Figure::step_time:
        case Figure::tokens:
        case Figure::mfu:
        case Figure::bubble:
        case Figure::memory:
            return 0;  // breakdown
    }
    return 0;
}

}  // namespace

void MainWindow::buildCentre() {
    auto* centre = new QWidget(this);
    auto* column = new QVBoxLayout(centre);
    column->setContentsMargins(4, 4, 4, 0);
    column->setSpacing(4);
    messages_ = new MessageBar(centre);
    splitter_ = new QSplitter(Qt::Vertical, centre);
    splitter_->setObjectName("centre");
    splitter_->addWidget(views_.timeline);
    splitter_->addWidget(views_.memory);
    splitter_->setStretchFactor(0, 5);
    splitter_->setStretchFactor(1, 2);
    splitter_->setChildrenCollapsible(true);
    column->addWidget(messages_);
    column->addWidget(views_.kpis);
    column->addWidget(splitter_, 1);
    setCentralWidget(centre);
    views_.memory->setGutter(views_.timeline->gutter());
    connect(views_.timeline, &TimelineView::gutterChanged, views_.memory, &MemoryView::setGutter);
    // One time stands under the other, whichever of the two scrolls.
    views_.timeline->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    views_.memory->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    connect(views_.kpis, &KpiStrip::figureChosen, this, [this](Figure figure) {
        if (figure == Figure::memory) {
            views_.memory->setFocus();
        } else {
            tabDock_->show();
            tabs_->setCurrentIndex(tabOf(figure));
        }
    });
}

void MainWindow::buildPlanDock() {
    auto* panel = new QWidget(this);
    auto* column = new QVBoxLayout(panel);
    column->setContentsMargins(4, 4, 4, 4);
    runs_ = new RunList(panel);
    editor_ = new PlanEditor(panel);
    auto* buttons = new QHBoxLayout();
    auto* pin = new QPushButton(tr("Pin as baseline"), panel);
    auto* flags = new QPushButton(tr("Copy flags"), panel);
    buttons->addWidget(pin);
    buttons->addWidget(flags);
    column->addWidget(runs_);
    column->addWidget(editor_, 1);
    column->addLayout(buttons);
    connect(pin, &QPushButton::clicked, this, &MainWindow::pinBaseline);
    connect(flags, &QPushButton::clicked, this, &MainWindow::copyFlags);
    planDock_ = makeDock(*this, tr("Plan"), "planDock", panel);
    addDockWidget(Qt::LeftDockWidgetArea, planDock_);
}

void MainWindow::buildInspectorDock() {
    inspector_ = new QTextBrowser(this);
    inspector_->setOpenLinks(false);
    inspector_->setAccessibleName(tr("Inspector"));
    inspector_->setFrameShape(QFrame::NoFrame);
    connect(inspector_, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) {
        const QStringList parts = url.toString().split(':');
        if (parts.size() == 3) views_.timeline->revealSpan(parts[1].toUInt(), parts[2].toULongLong());
    });
    inspectorDock_ = makeDock(*this, tr("Inspector"), "inspectorDock", inspector_);
    addDockWidget(Qt::RightDockWidgetArea, inspectorDock_);
}

void MainWindow::buildTabDock() {
    tabs_ = new QTabWidget(this);
    tabs_->setDocumentMode(true);
    addTabs(views_, *tabs_);
    logView_ = new QPlainTextEdit(tabs_);
    logView_->setReadOnly(true);
    logView_->setAccessibleName(tr("Log"));
    tabs_->addTab(logView_, tr("Log"));
    tabDock_ = makeDock(*this, tr("Tables"), "tabDock", tabs_);
    addDockWidget(Qt::BottomDockWidgetArea, tabDock_);
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    resizeDocks({planDock_, inspectorDock_}, {270, 270}, Qt::Horizontal);
    resizeDocks({tabDock_}, {220}, Qt::Vertical);
}

void MainWindow::buildStatusBar() {
    hoverLabel_ = new QLabel(this);
    cursorLabel_ = new QLabel(this);
    countLabel_ = new QLabel(this);
    progress_ = new QProgressBar(this);
    progress_->setRange(0, 0);
    progress_->setMaximumWidth(180);
    progress_->setTextVisible(true);
    progress_->setAccessibleName(tr("Progress"));
    cancel_ = new QToolButton(this);
    cancel_->setText(tr("Cancel"));
    connect(cancel_, &QToolButton::clicked, this, &MainWindow::cancelWork);
    progress_->hide();
    cancel_->hide();
    statusBar()->addWidget(hoverLabel_, 1);
    for (QWidget* widget : {static_cast<QWidget*>(cursorLabel_), static_cast<QWidget*>(countLabel_),
                            static_cast<QWidget*>(progress_), static_cast<QWidget*>(cancel_)}) {
        statusBar()->addPermanentWidget(widget);
    }
}

void MainWindow::restoreLayout() {
    if (persistence_ == Persistence::none) return;
    const QSettings settings;
    restoreGeometry(settings.value("geometry").toByteArray());
    restoreState(settings.value("docks").toByteArray(), layout_version);
    splitter_->restoreState(settings.value("splitter").toByteArray());
    recent_ = settings.value("recent").toStringList();
    const int kind = settings.value("theme", 0).toInt();
    if (kind >= 0 && kind <= static_cast<int>(ThemeKind::high_contrast)) theme_ = static_cast<ThemeKind>(kind);
}

void MainWindow::saveLayout() const {
    if (persistence_ == Persistence::none) return;
    QSettings settings;
    settings.setValue("geometry", saveGeometry());
    settings.setValue("docks", saveState(layout_version));
    settings.setValue("splitter", splitter_->saveState());
    settings.setValue("recent", recent_);
    settings.setValue("theme", static_cast<int>(theme_));
}

void MainWindow::setWindowView(WindowView view) {
    const int height = this->height();
    switch (view) {
        case WindowView::timeline:
            tabDock_->hide();
            splitter_->setSizes({height * 3 / 5, height * 2 / 5});
            break;
        case WindowView::memory:
            tabDock_->hide();
            splitter_->setSizes({height / 4, height * 3 / 4});
            break;
        case WindowView::compare:
            if (workspace_.shown().size() > 1 && views_.timeline->mode() == TimelineMode::single)
                setMode(TimelineMode::stack);
            tabDock_->show();
            tabs_->setCurrentWidget(views_.compare);
            splitter_->setSizes({height, 0});
            resizeDocks({tabDock_}, {height * 45 / 100}, Qt::Vertical);
            break;
        case WindowView::search:
            tabDock_->show();
            tabs_->setCurrentWidget(views_.plans);
            splitter_->setSizes({height, 0});
            resizeDocks({tabDock_}, {height * 3 / 4}, Qt::Vertical);
            break;
    }
}

}  // namespace foreshard::gui
