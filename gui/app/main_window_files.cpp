#include <QFile>
#include <QFileDialog>
#include <QLabel>

#include "gui/app/main_window.hpp"
#include "gui/export/html_report.hpp"
#include "gui/export/picture.hpp"
#include "gui/plans/plans_view.hpp"
#include "gui/plans/search_panel.hpp"
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
    workspace_.describe(session);
    for (const QString& search : searches_) session.searches.push_back(search.toStdString());
    session.mode = mode_names[static_cast<std::size_t>(views_.timeline->mode())];
    session.theme = theme_names[static_cast<std::size_t>(theme_)];
    session.begin = state_.begin();
    session.end = state_.end();
    const TimelineScene& scene = views_.timeline->scene();
    session.marks = scene.marks;
    session.pinnedRanks.assign(scene.choice.pinned.begin(), scene.choice.pinned.end());
    session.expandedRanks.assign(scene.choice.expanded.begin(), scene.choice.expanded.end());
    session.search = views_.plans->panel().texts();
    QFile file(path);
    const std::string text = sessionText(session);
    const auto size = static_cast<qint64>(text.size());
    if (!file.open(QIODevice::WriteOnly) || file.write(text.data(), size) != size) {
        report(MessageBar::Severity::error, tr("%1: cannot be written").arg(path));
        return;
    }
    hoverLabel_->setText(tr("saved %1").arg(path));
}

/// Everything is simulated again: a session names sources, not results.
void MainWindow::openSession(const QString& path) {
    try {
        Session session = parseSession(path.toStdString(), read_text_file(path.toStdString()));
        modeOf(session.mode);  // wrong names are told before anything is opened
        gui::themeKind(session.theme);
        for (const auto& [name, text] : session.search) {
            if (!isSearchField(name))
                throw InputError(path.toStdString(), "/search/" + name, "is no field of a search");
        }
        sessionOpener_.cancel();
        pending_ = PendingSession{std::move(session), {}};
        for (const SessionRun& run : pending_->session.runs) sessionOpener_.open(run.open);
        for (const std::string& search : pending_->session.searches) sessionOpener_.open({.source = search});
        if (pending_->wanted() == 0) showSession();
    } catch (const std::exception& error) {
        report(MessageBar::Severity::error, error.what());
    }
}

void MainWindow::onSessionOpened() {
    std::optional<OpenResult> result = sessionOpener_.take();
    if (!result || !pending_) return;
    pending_->results.push_back(std::move(*result));
    if (pending_->results.size() == pending_->wanted()) showSession();
}

void MainWindow::showSession() {
    PendingSession pending = std::move(*pending_);
    pending_.reset();
    const Session& session = pending.session;
    setThemeKind(gui::themeKind(session.theme));
    const Workspace old = std::exchange(workspace_, Workspace());  // the views still look at it
    for (std::size_t run = 0; run < session.runs.size(); ++run) {
        const std::size_t before = workspace_.size();
        take(std::move(pending.results[run]));
        for (std::size_t i = before; i < workspace_.size(); ++i) workspace_.setShown(i, session.runs[run].shown);
        if (run == session.edited && before < workspace_.size()) workspace_.edit(before);
    }
    for (std::size_t i = session.runs.size(); i < pending.results.size(); ++i) take(std::move(pending.results[i]));
    showWorkspace();
    setMode(modeOf(session.mode));
    views_.plans->panel().setTexts(session.search);
    views_.timeline->setMarks(session.marks);
    views_.timeline->setRanks({session.pinnedRanks.begin(), session.pinnedRanks.end()},
                              {session.expandedRanks.begin(), session.expandedRanks.end()});
    if (session.end > session.begin) state_.setVisible(session.begin, session.end);
}

}  // namespace foreshard::gui
