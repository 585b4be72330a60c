#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

namespace foreshard::gui {

/// Does items one after the other on a thread of its own. The destructor waits for the item at hand.
template <class Item, class Result>
class WorkerThread {
public:
    /// @param work  called on the thread
    /// @param ready called on the thread whenever a result can be taken
    WorkerThread(std::function<Result(const Item&)> work, std::function<void()> ready)
        : work_(std::move(work)),
          ready_(std::move(ready)),
          thread_([this](const std::stop_token& stop) { run(stop); }) {}

    void post(Item item) {
        {
            const std::lock_guard lock(mutex_);
            items_.push_back(std::move(item));
        }
        wake_.notify_one();
    }

    /// Forgets what has not begun.
    void dropWaiting() {
        const std::lock_guard lock(mutex_);
        items_.clear();
    }

    /// The oldest result that was not taken.
    std::optional<Result> take() {
        const std::lock_guard lock(mutex_);
        if (results_.empty()) return std::nullopt;
        std::optional<Result> result(std::move(results_.front()));
        results_.pop_front();
        return result;
    }

private:
    void run(const std::stop_token& stop) {
        while (std::optional<Item> item = next(stop)) {
            Result result = work_(*item);
            {
                const std::lock_guard lock(mutex_);
                results_.push_back(std::move(result));
            }
            ready_();
        }
    }

    std::optional<Item> next(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        if (!wake_.wait(lock, stop, [this] { return !items_.empty(); }) || stop.stop_requested()) return std::nullopt;
        std::optional<Item> item(std::move(items_.front()));
        items_.pop_front();
        return item;
    }

    std::function<Result(const Item&)> work_;
    std::function<void()> ready_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::deque<Item> items_;
    std::deque<Result> results_;
    std::jthread thread_;  ///< last: it uses all of the above
};

}  // namespace foreshard::gui
