#include "gui/app/file_opener.hpp"

#include <utility>

namespace foreshard::gui {

namespace {

JobRequest changed(JobRequest request, const std::vector<RequestValue>& changes) {
    for (const RequestValue& change : changes) request = with_value(std::move(request), change.name, change.text);
    return request;
}

Opened openFlags(const OpenRequest& request) {
    Opened opened;
    const JobRequest job = changed({}, request.changes);
    opened.documents.push_back(simulateRequest(request.name.empty() ? "plan" : request.name, job));
    opened.documents.front().base = {};
    return opened;
}

/// A source whose plan is changed is simulated once more; only jobs and reports have a plan.
Document withChanges(Document document, const OpenRequest& request) {
    if (request.changes.empty() || !document.request) return document;
    Document again = simulateRequest(document.name, changed(*document.request, request.changes));
    again.source = document.source;
    again.base = document.base;
    return again;
}

Opened openAny(const OpenRequest& request) {
    Opened opened = request.source.empty() ? openFlags(request) : openSource(request.source);
    for (Document& document : opened.documents) {
        document = withChanges(std::move(document), request);
        if (request.name.empty() || opened.documents.size() > 1) continue;
        document.name = request.name;
        document.run.name = request.name;
    }
    if (request.bubbleFree && opened.documents.size() == 1) {
        opened.documents.push_back(bubbleFree(opened.documents.front()));
    }
    return opened;
}

}  // namespace

OpenResult openNow(const OpenRequest& request) {
    OpenResult result;
    result.request = request;
    try {
        result.opened = openAny(request);
    } catch (const std::exception& error) {
        result.error = error.what();
    }
    return result;
}

FileOpener::FileOpener(QObject* parent)
    : QObject(parent),
      worker_(
          [](const Item& item) {
              return Result{item.generation, openNow(item.request)};
          },
          [this] { QMetaObject::invokeMethod(this, &FileOpener::deliver, Qt::QueuedConnection); }) {}

void FileOpener::open(const OpenRequest& request) {
    worker_.post({generation_, request});
    emit waitingChanged(++waiting_);
}

void FileOpener::cancel() {
    ++generation_;
    worker_.dropWaiting();
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
