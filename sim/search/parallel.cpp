#include "sim/search/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace foreshard {

namespace {

class WorkQueue {
public:
    WorkQueue(std::size_t count, const std::function<void(std::size_t, int)>& work) : count_(count), work_(work) {}

    void run(int worker) {
        for (std::size_t i = next_++; i < count_ && !failed_; i = next_++) {
            try {
                work_(i, worker);
            } catch (...) {
                keep(i, std::current_exception());
            }
        }
    }

    void pass_on() const {
        if (error_) std::rethrow_exception(error_);
    }

private:
    void keep(std::size_t index, const std::exception_ptr& error) {
        const std::lock_guard lock(mutex_);
        if (error_ && index_ < index) return;
        error_ = error;
        index_ = index;
        failed_ = true;
    }

    std::size_t count_;
    const std::function<void(std::size_t, int)>& work_;
    std::atomic<std::size_t> next_{0};
    std::atomic<bool> failed_{false};
    std::mutex mutex_;
    std::exception_ptr error_;
    std::size_t index_ = 0;
};

}  // namespace

void parallel_for(int threads, std::size_t count, const std::function<void(std::size_t, int)>& work) {
    WorkQueue queue(count, work);
    {
        std::vector<std::jthread> workers;
        const int useful = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads), count));
        workers.reserve(static_cast<std::size_t>(std::max(useful - 1, 0)));
        for (int w = 1; w < useful; ++w) workers.emplace_back([&queue, w] { queue.run(w); });
        queue.run(0);
    }
    queue.pass_on();
}

}  // namespace foreshard
