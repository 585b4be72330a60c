#include "gui/app/workspace.hpp"

#include <algorithm>

#include "sim/spec/request_text.hpp"

namespace foreshard::gui {

namespace {

Document copyOf(const Document& document) {
    Document copy;
    copy.name = document.name;
    copy.source = document.source;
    copy.base = document.base;
    copy.request = document.request;
    if (document.evaluation) copy.evaluation = std::make_unique<Evaluation>(*document.evaluation);
    copy.run = document.run;
    copy.warnings = document.warnings;
    return copy;
}

/// Reports are opened as two runs where they were measured.
ReportPart partOf(const Document& document) {
    if (document.run.source == RunSource::measured) return ReportPart::measurement;
    return document.request && !document.source.empty() ? ReportPart::simulation : ReportPart::all;
}

}  // namespace

std::string planWords(const JobRequest& base, const JobRequest& request) {
    constexpr std::size_t most = 3;
    const std::vector<RequestValue> changes = changed_values(base, request);
    std::string words;
    for (std::size_t i = 0; i < std::min(most, changes.size()); ++i) {
        const std::string value = changes[i].text.empty() ? "default" : changes[i].text;
        words += (words.empty() ? "" : ", ") + changes[i].name + " " + value;
    }
    return changes.size() > most ? words + ", ..." : words;
}

std::vector<const Document*> Workspace::shown() const {
    std::vector<const Document*> documents;
    for (const Entry& entry : entries_) {
        if (entry.shown) documents.push_back(entry.document.get());
    }
    return documents;
}

std::vector<const Run*> Workspace::shownRuns() const {
    const std::vector<const Document*> documents = shown();
    std::vector<const Run*> runs;
    runs.reserve(documents.size());
    for (const Document* document : documents) runs.push_back(&document->run);
    return runs;
}

std::string Workspace::freeName(const std::string& wanted) const {
    const auto taken = [this](const std::string& name) {
        return std::any_of(entries_.begin(), entries_.end(),
                           [&](const Entry& entry) { return entry.document->name == name; });
    };
    std::string name = wanted;
    for (int number = 2; taken(name); ++number) name = wanted + " (" + std::to_string(number) + ")";
    return name;
}

void Workspace::add(Document document) {
    document.name = freeName(document.name);
    document.run.name = document.name;
    entries_.push_back({std::make_unique<Document>(std::move(document)), true});
    if (!edited_ && entries_.back().document->request) edited_ = entries_.size() - 1;
}

void Workspace::setShown(std::size_t index, bool shown) {
    entries_[index].shown = shown;
}

void Workspace::edit(std::size_t index) {
    if (entries_[index].document->request) edited_ = index;
}

std::unique_ptr<Document> Workspace::replaceEdited(Document document) {
    return std::exchange(entries_[*edited_].document, std::make_unique<Document>(std::move(document)));
}

std::unique_ptr<Document> Workspace::remove(std::size_t index) {
    std::unique_ptr<Document> removed = std::move(entries_[index].document);
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(index));
    if (!edited_) return removed;
    if (*edited_ > index) {
        --*edited_;
    } else if (*edited_ == index) {
        edited_.reset();
        for (std::size_t i = 0; i < entries_.size() && !edited_; ++i) edit(i);
    }
    return removed;
}

void Workspace::makeFirst(std::size_t index) {
    const auto at = entries_.begin() + static_cast<std::ptrdiff_t>(index);
    std::rotate(entries_.begin(), at, at + 1);
    if (!edited_) return;
    if (*edited_ == index) {
        edited_ = 0;
    } else if (*edited_ < index) {
        ++*edited_;
    }
}

void Workspace::pinEdited() {
    if (!edited_) return;
    Document pinned = copyOf(*entries_[*edited_].document);
    pinned.name = freeName("baseline: " + pinned.name);
    pinned.run.name = pinned.name;
    entries_.insert(entries_.begin(), Entry{std::make_unique<Document>(std::move(pinned)), true});
    ++*edited_;
    entries_[*edited_].shown = true;
}

void Workspace::describe(Session& session) const {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const Document& document = *entries_[i].document;
        if (document.source.empty() && !document.request) continue;
        if (edited_ == i) session.edited = session.runs.size();
        SessionRun run;
        run.open.source = document.source;
        run.open.name = document.name;
        run.open.part = partOf(document);
        if (document.request) run.open.changes = changed_values(document.base, *document.request);
        run.shown = entries_[i].shown;
        session.runs.push_back(std::move(run));
    }
}

}  // namespace foreshard::gui
