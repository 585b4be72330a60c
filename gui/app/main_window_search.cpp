#include <QFile>
#include <QFileDialog>
#include <QLabel>

#include <fmt/format.h>

#include "gui/app/main_window.hpp"
#include "gui/charts/draw.hpp"
#include "gui/editor/plan_editor.hpp"
#include "gui/plans/plans_view.hpp"
#include "gui/plans/search_panel.hpp"
#include "sim/error.hpp"
#include "sim/result/text_format.hpp"
#include "sim/spec/request_text.hpp"

/// Searches in the window, and plans of searches.
namespace foreshard::gui {

namespace {

/// "gpt3-175b on 64..512 GPUs of selene, batch 64": sizes as the panel says them, else the plan's.
QString subjectText(const JobRequest& base, const SearchTexts& texts) {
    const auto value = [&](const char* name) {
        const auto said = texts.find(name);
        const std::string text = said != texts.end() ? said->second : request_value(base, name);
        return text.empty() ? QString("?") : qt(text);
    };
    return QObject::tr("Plans for %1 on %2 GPUs of %3, batch %4")
        .arg(value("model"), value("gpus"), value("cluster"), value("gbs"));
}

QString progressText(const SearchProgress& progress) {
    std::string text = fmt::format("{} {:.0f} %: {} plans bounded, {} simulated", progress.phase,
                                   100.0 * progress.done_ratio, progress.evaluated, progress.simulated);
    if (progress.best_ms) text += ", best " + milliseconds(*progress.best_ms);
    return qt(text);
}

QString endText(const FoundPlans& found) {
    if (found.stopped) return QObject::tr("Stopped: the plans are the best so far");
    return qt(fmt::format("{} plans bounded and {} simulated in {:.1f} s", found.shown.evaluated, found.shown.simulated,
                          found.shown.elapsed_s.value_or(0.0)));
}

}  // namespace

void MainWindow::connectSearch() {
    SearchPanel& panel = views_.plans->panel();
    connect(&panel, &SearchPanel::searchAsked, this, &MainWindow::startSearch);
    connect(&panel, &SearchPanel::changed, this, &MainWindow::updateSubject);
    panel.setCheck([this](const SearchTexts& texts) { searchRequestOf(editor_->request(), editedJob(), texts); });
    connect(&panel, &SearchPanel::stopAsked, &searcher_, &SearchRunner::stop);
    connect(&searcher_, &SearchRunner::busyChanged, &panel, &SearchPanel::setSearching);
    connect(&searcher_, &SearchRunner::busyChanged, this, &MainWindow::updateBusy);
    connect(&searcher_, &SearchRunner::progressed, this, &MainWindow::onSearchProgress);
    connect(&searcher_, &SearchRunner::streamed, this, &MainWindow::onPlansStreamed);
    connect(&searcher_, &SearchRunner::found, this, &MainWindow::onPlansFound);
    connect(views_.plans, &PlansView::settingsCopied, this,
            [this](const QString& note) { hoverLabel_->setText(note); });
    connect(views_.plans, &PlansView::settingsRefused, this,
            [this](const QString& reason) { report(MessageBar::Severity::error, reason); });
}

const Job* MainWindow::editedJob() const {
    const Document* document = workspace_.editedDocument();
    return document && document->evaluation ? &document->evaluation->job : nullptr;
}

void MainWindow::showSearch() {
    setWindowView(WindowView::search);
    views_.plans->panel().setFocus();
}

void MainWindow::startSearch() {
    SearchPanel& panel = views_.plans->panel();
    panel.setMessages({});
    try {
        searcher_.start(searchRequestOf(editor_->request(), editedJob(), panel.texts()));
    } catch (const InputError& error) {
        panel.setMessages({searchMessageOf(error.source(), error.what())});
    }
}

void MainWindow::updateSubject() {
    try {
        const SweepRequest request = searchRequestOf(editor_->request(), editedJob(), {});
        SearchPanel& panel = views_.plans->panel();
        panel.setSubject(subjectText(request.search.base, panel.texts()), qt(freedText(editor_->request())));
    } catch (const InputError& error) {
        views_.plans->panel().setSubject(error.what(), {});
    }
}

void MainWindow::onSearchProgress(const SearchProgress& progress) {
    views_.plans->panel().setProgress(progress.done_ratio, progressText(progress));
}

/// Plans as they come; the file of an earlier search is no longer what is shown.
void MainWindow::onPlansStreamed() {
    std::optional<ReadSearch> soFar = searcher_.takeSoFar();
    if (!soFar) return;
    searches_.clear();
    foundText_.clear();
    views_.plans->setSearch(std::move(soFar));
}

/// The plans that were shown stay when a search cannot begin.
void MainWindow::onPlansFound() {
    std::optional<FoundPlans> found = searcher_.take();
    if (!found) return;
    SearchPanel& panel = views_.plans->panel();
    std::vector<FieldMessage> messages;
    for (const std::string& line : found->advice) messages.push_back({"", line});
    if (!found->error.empty()) messages.push_back(searchMessageOf(found->flag, found->error));
    panel.setMessages(messages);
    if (!found->error.empty()) return;
    panel.setEnd(endText(*found));
    searches_.clear();
    foundText_ = std::move(found->text);
    views_.plans->setSearch(std::move(found->shown));
}

void MainWindow::addSearch(ReadSearch search, const QString& source) {
    searcher_.cancel();
    searches_ = QStringList(source);
    foundText_.clear();
    views_.plans->setSearch(std::move(search));
    setWindowView(WindowView::search);
}

void MainWindow::openSearchPlan(int plan) {
    const std::optional<ReadSearch>& search = views_.plans->search();
    if (!search || plan < 0 || static_cast<std::size_t>(plan) >= search->plans.size()) return;
    const SearchPlan& found = search->plans[static_cast<std::size_t>(plan)];
    opener_.openPlan("plan " + std::to_string(plan + 1), found.request);
}

void MainWindow::chooseSearchFile() {
    const QString file =
        QFileDialog::getSaveFileName(this, tr("Export found plans"), "search.json", tr("JSON (*.json)"));
    if (!file.isEmpty()) exportSearch(file);
}

void MainWindow::exportSearch(const QString& path) {
    if (foundText_.empty()) {
        report(MessageBar::Severity::error, tr("no search was run in this window: there is nothing to export"));
        return;
    }
    QFile file(path);
    const auto size = static_cast<qint64>(foundText_.size());
    if (!file.open(QIODevice::WriteOnly) || file.write(foundText_.data(), size) != size) {
        report(MessageBar::Severity::error, tr("%1: cannot be written").arg(path));
        return;
    }
    searches_ = QStringList(path);
    hoverLabel_->setText(tr("wrote %1").arg(path));
}

}  // namespace foreshard::gui
