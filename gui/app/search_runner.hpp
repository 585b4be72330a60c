#pragma once

#include <QObject>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "gui/app/plan_search.hpp"
#include "gui/app/worker_thread.hpp"

namespace foreshard::gui {

/// Searches for plans on a worker thread: first the best ones, then, for one size, those of every TP x PP. A new search
/// ends the one before.
class SearchRunner : public QObject {
    Q_OBJECT

public:
    explicit SearchRunner(QObject* parent = nullptr);

    void start(const SweepRequest& request);
    /// Ends the search; what it found so far is still delivered.
    void stop();
    /// Ends the search; nothing is delivered any more.
    void cancel();
    bool busy() const { return busy_; }
    /// The newest search's plans, once after each found().
    std::optional<FoundPlans> take();
    /// The running search's plans so far, once after each streamed().
    std::optional<ReadSearch> takeSoFar();

signals:
    void busyChanged(bool busy);
    /// At most every `progress_ms`.
    void progressed(const foreshard::SearchProgress& progress);
    /// Plans were found; at most every `plans_ms`.
    void streamed();
    /// The best plans, and later those with the map; or an error.
    void found();

private:
    struct Item {
        int number = 0;
        SweepRequest request;
        std::shared_ptr<const FoundPlans> toMap;  ///< null: nothing was searched yet
        std::stop_source ending;                  ///< of the search, begun or not
    };
    struct Result {
        int number = 0;
        FoundPlans found;
    };
    static constexpr std::chrono::milliseconds progress_ms{50};
    static constexpr std::chrono::milliseconds plans_ms{200};

    FoundPlans searched(const Item& item, const OnProgress& onProgress, const std::stop_token& stop);
    void hearPlans(int number, const PlansSoFar& plans);  ///< on the worker's thread
    void tellPlans();
    Result work(const Item& item, const std::stop_token& stop);
    void hear(int number, const SearchProgress& progress);  ///< on threads of the search
    void tell();
    void deliver();
    void setBusy(bool busy);

    int newest_ = 0;
    bool busy_ = false;
    std::stop_source ending_;
    std::optional<FoundPlans> found_;
    std::optional<ReadSearch> soFar_;
    std::chrono::steady_clock::time_point toldPlans_;  ///< the worker's

    std::mutex mutex_;  ///< of what follows, up to the worker
    std::optional<std::pair<int, SearchProgress>> heard_;
    std::chrono::steady_clock::time_point told_;
    std::optional<std::pair<int, ReadSearch>> heardPlans_;

    WorkerThread<Item, Result> worker_;  ///< last: it uses all of the above
};

}  // namespace foreshard::gui
