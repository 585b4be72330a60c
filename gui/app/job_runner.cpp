#include "gui/app/job_runner.hpp"

#include <utility>

namespace foreshard::gui {

JobRunner::JobRunner(Simulate simulate, QObject* parent)
    : QObject(parent),
      worker_(
          [simulate = std::move(simulate)](const Item& item, const std::stop_token& stop) {
              return Result{item.number, simulate(item.name, item.request, stop)};
          },
          [this] { QMetaObject::invokeMethod(this, &JobRunner::deliver, Qt::QueuedConnection); }) {
    debounce_.setSingleShot(true);
    debounce_.setInterval(debounce_ms);
    connect(&debounce_, &QTimer::timeout, this, &JobRunner::begin);
}

void JobRunner::submit(const std::string& name, const JobRequest& request) {
    waiting_ = {++newest_, name, request};
    worker_.dropAll();
    sinceSubmit_.start();
    debounce_.start();
    setBusy(true);
}

void JobRunner::cancel() {
    ++newest_;
    debounce_.stop();
    worker_.dropAll();
    setBusy(false);
}

std::optional<Outcome> JobRunner::take() {
    return std::exchange(outcome_, std::nullopt);
}

void JobRunner::begin() {
    worker_.post(waiting_);
}

void JobRunner::deliver() {
    while (std::optional<Result> result = worker_.take()) {
        if (result->number != newest_) {
            ++dropped_;
            continue;
        }
        outcome_ = std::move(result->outcome);
        latencyMs_ = static_cast<double>(sinceSubmit_.nsecsElapsed()) / 1e6;
        setBusy(false);
        emit finished();
    }
}

void JobRunner::setBusy(bool busy) {
    if (busy_ == busy) return;
    busy_ = busy;
    emit busyChanged(busy);
}

}  // namespace foreshard::gui
