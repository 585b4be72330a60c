#include "gui/app/search_runner.hpp"

#include <utility>

namespace foreshard::gui {

SearchRunner::SearchRunner(QObject* parent)
    : QObject(parent),
      worker_([this](const Item& item, const std::stop_token& stop) { return work(item, stop); },
              [this] { QMetaObject::invokeMethod(this, &SearchRunner::deliver, Qt::QueuedConnection); }) {}

void SearchRunner::start(const SweepRequest& request) {
    worker_.dropAll();
    ending_ = std::stop_source();
    worker_.post({++newest_, request, nullptr, ending_});
    setBusy(true);
}

void SearchRunner::stop() {
    ending_.request_stop();
}

void SearchRunner::cancel() {
    ++newest_;
    worker_.dropAll();
    setBusy(false);
}

std::optional<FoundPlans> SearchRunner::take() {
    return std::exchange(found_, std::nullopt);
}

SearchRunner::Result SearchRunner::work(const Item& item, const std::stop_token& stop) {
    std::stop_source ending = item.ending;
    const std::stop_callback dropped(stop, [&ending] { ending.request_stop(); });
    const OnProgress onProgress = [&](const SearchProgress& progress) { hear(item.number, progress); };
    return {item.number, item.toMap ? withMap(*item.toMap, onProgress, ending.get_token())
                                    : searched(item, onProgress, ending.get_token())};
}

FoundPlans SearchRunner::searched(const Item& item, const OnProgress& onProgress, const std::stop_token& stop) {
    std::optional<PlansSoFar> plans;
    return findPlans(item.request, onProgress, stop, [&](const SweepPoint& size, const Improvement& improvement) {
        if (!plans) plans.emplace(item.request);
        plans->add(size, improvement);
        hearPlans(item.number, *plans);
    });
}

/// What comes too fast is left out: the end says it.
void SearchRunner::hearPlans(int number, const PlansSoFar& plans) {
    const auto now = std::chrono::steady_clock::now();
    if (now - toldPlans_ < plans_ms) return;
    toldPlans_ = now;
    ReadSearch shown = plans.shown();
    const std::lock_guard lock(mutex_);
    const bool waiting = heardPlans_.has_value();
    heardPlans_.emplace(number, std::move(shown));
    if (!waiting) QMetaObject::invokeMethod(this, &SearchRunner::tellPlans, Qt::QueuedConnection);
}

void SearchRunner::tellPlans() {
    std::optional<std::pair<int, ReadSearch>> heard;
    {
        const std::lock_guard lock(mutex_);
        heard = std::exchange(heardPlans_, std::nullopt);
    }
    if (!heard || heard->first != newest_ || !busy_ || ending_.stop_requested()) return;
    soFar_ = std::move(heard->second);
    emit streamed();
}

std::optional<ReadSearch> SearchRunner::takeSoFar() {
    return std::exchange(soFar_, std::nullopt);
}

/// What comes too fast is left out: the next one says more.
void SearchRunner::hear(int number, const SearchProgress& progress) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now - told_ < progress_ms) return;
    told_ = now;
    const bool waiting = heard_.has_value();
    heard_.emplace(number, progress);
    if (!waiting) QMetaObject::invokeMethod(this, &SearchRunner::tell, Qt::QueuedConnection);
}

void SearchRunner::tell() {
    std::optional<std::pair<int, SearchProgress>> heard;
    {
        const std::lock_guard lock(mutex_);
        heard = std::exchange(heard_, std::nullopt);
    }
    if (heard && heard->first == newest_ && busy_) emit progressed(heard->second);
}

void SearchRunner::deliver() {
    while (std::optional<Result> result = worker_.take()) {
        if (result->number != newest_) continue;
        found_ = std::move(result->found);
        const bool more = !ending_.stop_requested() && !found_->mapped && found_->error.empty();
        if (more) {
            worker_.post({newest_, found_->request, std::make_shared<const FoundPlans>(*found_), ending_});
        } else {
            setBusy(false);
        }
        emit found();
    }
}

void SearchRunner::setBusy(bool busy) {
    if (busy_ == busy) return;
    busy_ = busy;
    emit busyChanged(busy);
}

}  // namespace foreshard::gui
