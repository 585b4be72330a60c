#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <functional>
#include <optional>
#include <string>

#include "gui/app/document.hpp"
#include "gui/app/worker_thread.hpp"

namespace foreshard::gui {

/// Simulates the newest request on a worker thread. What was asked for before is stale: it is not begun any more, or
/// it is stopped and its result dropped.
class JobRunner : public QObject {
    Q_OBJECT

public:
    using Simulate =
        std::function<Outcome(const std::string& name, const JobRequest& request, const std::stop_token& stop)>;

    explicit JobRunner(QObject* parent = nullptr) : JobRunner(tryRequest, parent) {}
    /// @param simulate called on the worker thread; `stop` is requested when its result is not wanted any more
    explicit JobRunner(Simulate simulate, QObject* parent = nullptr);

    /// Requests that follow each other within `debounce` are one.
    static constexpr int debounce_ms = 50;
    void submit(const std::string& name, const JobRequest& request);
    /// Nothing that was submitted will be delivered. A simulation that has begun is stopped.
    void cancel();

    bool busy() const { return busy_; }
    /// The newest request's outcome, once after each finished().
    std::optional<Outcome> take();
    /// From the last submit() to finished(), debounce included.
    double latencyMs() const { return latencyMs_; }
    int dropped() const { return dropped_; }  ///< stale results so far

signals:
    void busyChanged(bool busy);
    void finished();

private:
    struct Item {
        int number = 0;
        std::string name;
        JobRequest request;
    };
    struct Result {
        int number = 0;
        Outcome outcome;
    };

    void begin();
    void deliver();
    void setBusy(bool busy);

    int newest_ = 0;
    int dropped_ = 0;
    bool busy_ = false;
    double latencyMs_ = 0.0;
    QElapsedTimer sinceSubmit_;
    QTimer debounce_;
    Item waiting_;
    std::optional<Outcome> outcome_;
    WorkerThread<Item, Result> worker_;
};

}  // namespace foreshard::gui
