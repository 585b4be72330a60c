#include "gui/app/file_opener.hpp"

#include <utility>

namespace foreshard::gui {

namespace {

JobRequest changed(JobRequest request, const std::vector<RequestValue>& changes) {
    for (const RequestValue& change : changes) request = with_value(std::move(request), change.name, change.text);
    return request;
}

Opened openJobRequest(const std::string& name, const JobRequest& plan, const std::stop_token& stop) {
    Opened opened;
    opened.documents.push_back(simulateRequest(name, plan, stop));
    opened.documents.front().base = {};
    return opened;
}

Opened openFlags(const OpenRequest& request, const std::stop_token& stop) {
    return openJobRequest(request.name.empty() ? "plan" : request.name, changed({}, request.changes), stop);
}

/// A source whose plan is changed is simulated once more; only jobs and reports have a plan.
Document withChanges(Document document, const OpenRequest& request, const std::stop_token& stop) {
    if (request.changes.empty() || !document.request) return document;
    Document again = simulateRequest(document.name, changed(*document.request, request.changes), stop);
    again.source = document.source;
    again.base = document.base;
    return again;
}

/// A file without such a part is opened whole.
void keepPart(std::vector<Document>& documents, ReportPart part) {
    if (part == ReportPart::all || documents.size() < 2) return;
    std::erase_if(documents, [part](const Document& document) {
        return document.request.has_value() != (part == ReportPart::simulation);
    });
}

Opened openAny(const OpenRequest& request, const std::stop_token& stop) {
    Opened opened = request.source.empty() ? openFlags(request, stop) : openSource(request.source, stop);
    keepPart(opened.documents, request.part);
    for (Document& document : opened.documents) {
        document = withChanges(std::move(document), request, stop);
        if (request.name.empty() || opened.documents.size() > 1) continue;
        document.name = request.name;
        document.run.name = request.name;
    }
    if (request.bubbleFree && opened.documents.size() == 1) {
        opened.documents.push_back(bubbleFree(opened.documents.front()));
    }
    return opened;
}

template <class Open>
OpenResult withErrors(const OpenRequest& request, const Open& open) {
    OpenResult result;
    result.request = request;
    try {
        result.opened = open();
    } catch (const std::exception& error) {
        result.error = error.what();
    }
    return result;
}

}  // namespace

OpenResult openNow(const OpenRequest& request, const std::stop_token& stop) {
    return withErrors(request, [&] { return openAny(request, stop); });
}

FileOpener::FileOpener(QObject* parent)
    : QObject(parent),
      worker_(
          [](const Item& item, const std::stop_token& stop) {
              return Result{item.generation, item.work(stop)};
          },
          [this] { QMetaObject::invokeMethod(this, &FileOpener::deliver, Qt::QueuedConnection); }) {}

void FileOpener::open(const OpenRequest& request) {
    post([request](const std::stop_token& stop) { return openNow(request, stop); });
}

void FileOpener::openPlan(const std::string& name, const JobRequest& plan) {
    post([name, plan](const std::stop_token& stop) {
        return withErrors({.name = name}, [&] { return openJobRequest(name, plan, stop); });
    });
}

void FileOpener::post(Work work) {
    worker_.post({generation_, std::move(work)});
    emit waitingChanged(++waiting_);
}

void FileOpener::cancel() {
    ++generation_;
    worker_.dropAll();
    waiting_ = 0;
    emit waitingChanged(0);
}

std::optional<OpenResult> FileOpener::take() {
    return std::exchange(result_, std::nullopt);
}

void FileOpener::deliver() {
    while (std::optional<Result> result = worker_.take()) {
        if (result->generation != generation_) continue;
        result_ = std::move(result->result);
        emit waitingChanged(--waiting_);
        emit opened();
    }
}

}  // namespace foreshard::gui
