#include "runtime/waiting_room.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/transport.hpp"

namespace foreshard::runtime {

void WaitingRoom::expect(int threads) {
    const Lock held = lock();
    expected_ += threads;
}

void WaitingRoom::enter(int rank) {
    const Lock held = lock();
    present_[std::this_thread::get_id()].rank = rank;
}

void WaitingRoom::leave() {
    const Lock held = lock();
    present_.erase(std::this_thread::get_id());
    --expected_;
    find_deadlock();
}

void WaitingRoom::name_tasks(std::function<std::string(int)> name) {
    const Lock held = lock();
    task_name_ = std::move(name);
}

void WaitingRoom::now_at(int task) {
    present_[std::this_thread::get_id()].task = task;
}

void WaitingRoom::wait(Lock& held, const std::function<bool()>& ready, const std::function<std::string()>& what) {
    if (failure_) throw_failure();
    if (ready()) return;
    Waiter me;
    me.ready = &ready;
    me.what = &what;
    Present& present = present_[std::this_thread::get_id()];
    present.waiter = &me;
    find_deadlock();
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(timeout_);
    while (!failure_ && !ready()) {
        if (me.wake.wait_until(held, until) == std::cv_status::no_timeout || failure_ || ready()) continue;
        fail_locked(present.rank, fmt::format("nothing came within {:g} s. {}", timeout_.count(), who_waits()));
    }
    present.waiter = nullptr;
    if (failure_) throw_failure();
}

void WaitingRoom::changed() {
    for (auto& [id, present] : present_) {
        if (present.waiter != nullptr && (*present.waiter->ready)()) present.waiter->wake.notify_one();
    }
}

void WaitingRoom::fail(int rank, const std::string& reason) {
    const Lock held = lock();
    fail_locked(rank, reason);
}

std::optional<Failure> WaitingRoom::failure() {
    const Lock held = lock();
    return failure_;
}

std::string WaitingRoom::describe() {
    const Lock held = lock();
    return who_waits();
}

void WaitingRoom::fail_locked(int rank, const std::string& reason) {
    if (failure_) return;
    failure_ = Failure{rank, reason};
    for (auto& [id, present] : present_) {
        if (present.waiter != nullptr) present.waiter->wake.notify_one();
    }
}

/// A thread that was woken but does not run yet counts as able to go on: its condition holds.
void WaitingRoom::find_deadlock() {
    if (failure_ || present_.empty() || static_cast<int>(present_.size()) < expected_) return;
    const bool stuck = std::all_of(present_.begin(), present_.end(), [](const auto& entry) {
        const Waiter* waiter = entry.second.waiter;
        return waiter != nullptr && !(*waiter->ready)();
    });
    if (!stuck) return;
    const int rank = present_.begin()->second.rank;
    fail_locked(rank, "deadlock: no rank can go on. " + who_waits());
}

/// In the order of ranks, so that the text does not depend on thread ids.
std::string WaitingRoom::who_waits() const {
    std::vector<std::pair<int, std::string>> lines;
    for (const auto& [id, present] : present_) {
        const std::string at = present.task < 0 || !task_name_ ? "" : " in " + task_name_(present.task);
        const std::string does = present.waiter != nullptr ? "waits for " + (*present.waiter->what)() : "is at work";
        lines.emplace_back(present.rank, fmt::format("rank {}{} {}", present.rank, at, does));
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const auto& [rank, line] : lines) text += (text.empty() ? "" : "; ") + line;
    return text;
}

void WaitingRoom::throw_failure() const {
    throw TransportError(failure_->rank, failure_->reason);
}

}  // namespace foreshard::runtime
