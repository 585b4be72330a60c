#include <QFile>
#include <QFileDialog>
#include <QLabel>

#include "gui/app/main_window.hpp"
#include "gui/export/html_report.hpp"
#include "gui/export/picture.hpp"
#include "gui/plans/plans_view.hpp"
#include "gui/timeline/timeline_view.hpp"
#include "sim/error.hpp"
#include "sim/spec/text_file.hpp"

/// Files that the window reads and writes.
namespace foreshard::gui {

namespace {

constexpr qsizetype most_recent = 12;

const char* const mode_names[] = {"single", "stack", "diff", "overlay"};
const char* const theme_names[] = {"light", "dark", "high-contrast"};

TimelineMode modeOf(const std::string& name) {
    for (int i = 0; i < 4; ++i) {
        if (name == mode_names[i]) return static_cast<TimelineMode>(i);
    }
    throw InputError(name, "", "no such mode (single, stack, diff, overlay)");
}

}  // namespace

void MainWindow::chooseFiles() {
    const QStringList files = QFileDialog::getOpenFileNames(
        this, tr("Open"), {}, tr("Jobs, reports, traces, searches (*.json *.gz);;All files (*)"));
    for (const QString& file : files) open({.source = file.toStdString()});
}

void MainWindow::chooseSession() {
    const QString file = QFileDialog::getOpenFileName(this, tr("Open session"), {}, tr("Sessions (*.json)"));
    if (!file.isEmpty()) openSession(file);
}

void MainWindow::chooseSessionToSave() {
    const QString file =
        QFileDialog::getSaveFileName(this, tr("Save session"), "session.json", tr("Sessions (*.json)"));
    if (!file.isEmpty()) saveSession(file);
}

void MainWindow::chooseExport(const QString& view) {
    const QString file = QFileDialog::getSaveFileName(this, tr("Export %1").arg(view), view.toLower() + ".png",
                                                      tr("Pictures (*.png *.svg *.pdf)"));
    if (!file.isEmpty()) exportView(view, file);
}

void MainWindow::chooseHtml() {
    const QString file = QFileDialog::getSaveFileName(this, tr("Export report"), "report.html", tr("HTML (*.html)"));
    if (!file.isEmpty()) exportHtml(file);
}

void MainWindow::remember(const QString& source) {
    recent_.removeAll(source);
    recent_.prepend(source);
    while (recent_.size() > most_recent) recent_.removeLast();
    saveLayout();
}

Picture MainWindow::pictureOf(const PaintedView& view) const {
    Picture picture;
    QStringList names;
    QStringList provenance;
    for (const Document* document : workspace_.shown()) {
        names << QString::fromStdString(document->name);
        provenance << QString::fromStdString(document->run.provenance);
    }
    picture.title = view.name + ": " + names.join(" | ");
    provenance.removeDuplicates();
    picture.provenance = provenance.join("  |  ");
    picture.theme = theme_;
    picture.paint = view.paint;
    return picture;
}

void MainWindow::exportView(const QString& name, const QString& path) {
    try {
        for (const PaintedView& view : paintedViews(views_)) {
            if (view.name != name) continue;
            writePicture(path, pictureOf(view));
            hoverLabel_->setText(tr("wrote %1").arg(path));
            return;
        }
        report(MessageBar::Severity::error, tr("there is no view '%1'").arg(name));
    } catch (const std::exception& error) {
        report(MessageBar::Severity::error, error.what());
    }
}

void MainWindow::exportHtml(const QString& path) {
    std::vector<Picture> pictures;
    for (const PaintedView& view : paintedViews(views_)) {
        const bool pair = view.name == "Compare";
        const bool wanted = view.name == "Timeline" || view.name == "Memory" || view.name == "Breakdown" || pair;
        if (wanted && (!pair || workspace_.shown().size() > 1)) pictures.push_back(pictureOf(view));
    }
    try {
        writeHtmlReport(path, workspace_.shown(), pictures);
        hoverLabel_->setText(tr("wrote %1").arg(path));
    } catch (const std::exception& error) {
        report(MessageBar::Severity::error, error.what());
    }
}

void MainWindow::exportWindow(const QString& path) {
    if (!grab().toImage().convertToFormat(QImage::Format_RGB32).save(path, "PNG")) {
        throw InputError(path.toStdString(), "", "cannot be written");
    }
}

void MainWindow::saveSession(const QString& path) {
    Session session;
    session.runs = workspace_.sessionRuns();
    for (const QString& search : searches_) session.searches.push_back(search.toStdString());
    session.edited = workspace_.edited().value_or(0);
    session.mode = mode_names[static_cast<std::size_t>(views_.timeline->mode())];
    session.theme = theme_names[static_cast<std::size_t>(theme_)];
    session.begin = state_.begin();
    session.end = state_.end();
    QFile file(path);
    const std::string text = sessionText(session);
    const auto size = static_cast<qint64>(text.size());
    if (!file.open(QIODevice::WriteOnly) || file.write(text.data(), size) != size) {
        report(MessageBar::Severity::error, tr("%1: cannot be written").arg(path));
        return;
    }
    hoverLabel_->setText(tr("saved %1").arg(path));
}

/// Everything is simulated again, here and now: a session names sources, not results.
void MainWindow::openSession(const QString& path) {
    try {
        const Session session = parseSession(path.toStdString(), read_text_file(path.toStdString()));
        const TimelineMode mode = modeOf(session.mode);
        setThemeKind(gui::themeKind(session.theme));
        const Workspace old = std::move(workspace_);
        workspace_ = Workspace();
        for (const SessionRun& run : session.runs) {
            const std::size_t before = workspace_.size();
            add(openNow(run.open));
            for (std::size_t i = before; i < workspace_.size(); ++i) workspace_.setShown(i, run.shown);
        }
        for (const std::string& search : session.searches) add(openNow({.source = search}));
        if (session.edited < workspace_.size()) workspace_.edit(session.edited);
        showWorkspace();
        setMode(mode);
        if (session.end > session.begin) state_.setVisible(session.begin, session.end);
    } catch (const std::exception& error) {
        report(MessageBar::Severity::error, error.what());
    }
}

void MainWindow::addSearch(SearchResult search, const QString& source) {
    searches_ = QStringList(source);
    views_.plans->setSearch(std::move(search));
    setWindowView(WindowView::search);
}

void MainWindow::openSearchPlan(int plan) {
    const std::optional<SearchResult>& search = views_.plans->search();
    if (!search || plan < 0 || static_cast<std::size_t>(plan) >= search->plans.size()) return;
    const SearchPlan& found = search->plans[static_cast<std::size_t>(plan)];
    Outcome outcome = tryRequest("plan " + std::to_string(plan + 1), found.request);
    if (!outcome.document) {
        const std::string why = outcome.error.empty() ? brokenText(outcome.broken) : outcome.error;
        report(MessageBar::Severity::error, QString::fromStdString(why));
        return;
    }
    outcome.document->base = {};
    workspace_.add(std::move(*outcome.document));
    showWorkspace();
    if (workspace_.shown().size() > 1 && views_.timeline->mode() == TimelineMode::single) setMode(TimelineMode::stack);
}

}  // namespace foreshard::gui
