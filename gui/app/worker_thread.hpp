#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "gui/app/wide_registers.hpp"

namespace foreshard::gui {

/// Does items one after the other on a thread of its own. The destructor stops the item at hand and waits for it.
template <class Item, class Result>
class WorkerThread {
public:
    /// Called on the thread; ends early once its token is stopped, with whatever result.
    using Work = std::function<Result(const Item&, const std::stop_token&)>;

    /// @param ready called on the thread whenever a result can be taken
    WorkerThread(Work work, std::function<void()> ready)
        : work_(std::move(work)),
          ready_(std::move(ready)),
          thread_([this](const std::stop_token& stop) { run(stop); }) {}
    ~WorkerThread() { dropAll(); }

    void post(Item item) {
        {
            const std::lock_guard lock(mutex_);
            items_.push_back(std::move(item));
        }
        wake_.notify_one();
    }

    /// Forgets what has not begun, and asks the item at hand to end early. Its result still comes.
    void dropAll() {
        const std::lock_guard lock(mutex_);
        items_.clear();
        atHand_.request_stop();
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
        while (std::optional<Begun> begun = next(stop)) {
            clearWideRegisters();
            Result result = work_(begun->item, begun->stop);
            {
                const std::lock_guard lock(mutex_);
                results_.push_back(std::move(result));
            }
            ready_();
        }
    }

    struct Begun {
        Item item;
        std::stop_token stop;
    };

    std::optional<Begun> next(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        if (!wake_.wait(lock, stop, [this] { return !items_.empty(); }) || stop.stop_requested()) return std::nullopt;
        atHand_ = std::stop_source();
        std::optional<Begun> begun(Begun{std::move(items_.front()), atHand_.get_token()});
        items_.pop_front();
        return begun;
    }

    Work work_;
    std::function<void()> ready_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::deque<Item> items_;
    std::deque<Result> results_;
    std::stop_source atHand_;
    std::jthread thread_;  ///< last: it uses all of the above
};

}  // namespace foreshard::gui
