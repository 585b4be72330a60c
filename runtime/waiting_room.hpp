#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

/// Where the threads of a process wait for each other. It knows who waits for what, so that it can tell when nobody can
/// go on.
namespace foreshard::runtime {

/// Why a job ended early, and on which rank that was found out.
struct Failure {
    int rank = -1;
    std::string reason;
};

class WaitingRoom {
public:
    using Lock = std::unique_lock<std::mutex>;

    /// @param timeout a thread that waits longer ends the job
    explicit WaitingRoom(std::chrono::duration<double> timeout) : timeout_(timeout) {}

    /// Announces threads that will come, before the first of them starts: until they have, nobody is stuck.
    void expect(int threads);

    /// A thread of a rank, from its start to its end. One of the expected.
    class Guest {
    public:
        Guest(WaitingRoom& room, int rank) : room_(room) { room.enter(rank); }
        ~Guest() { room_.leave(); }
        Guest(const Guest&) = delete;
        Guest& operator=(const Guest&) = delete;

    private:
        WaitingRoom& room_;
    };

    /// How the tasks that threads are at are called when the job ends early.
    void name_tasks(std::function<std::string(int)> name);
    /// The calling thread begins a task. Precondition: the caller holds the lock.
    void now_at(int task);

    /// Holds the state that conditions read.
    Lock lock() { return Lock(mutex_); }

    /// Returns when `ready` holds. @throws TransportError when the job has failed, when every thread waits and none of
    /// the conditions holds, or at the timeout
    /// @param what e.g. "send to rank 3"; is asked for only when something is wrong
    void wait(Lock& lock, const std::function<bool()>& ready, const std::function<std::string()>& what);

    /// Wakes those whose condition now holds. Precondition: the caller holds the lock.
    void changed();

    /// The first failure counts. Precondition: the caller does not hold the lock.
    void fail(int rank, const std::string& reason);

    std::optional<Failure> failure();

    /// "rank 0 in 2F1 is at work; rank 1 in receive 2F0 waits for rank 0"
    std::string describe();

private:
    struct Waiter {
        const std::function<bool()>* ready = nullptr;
        const std::function<std::string()>* what = nullptr;
        std::condition_variable wake;
        bool called = false;
    };
    struct Present {
        int rank = -1;
        int task = -1;
        Waiter* waiter = nullptr;
    };

    void enter(int rank);
    void leave();
    void fail_locked(int rank, const std::string& reason);
    void find_deadlock();
    std::string who_waits() const;
    [[noreturn]] void throw_failure() const;

    std::chrono::duration<double> timeout_;
    std::mutex mutex_;
    int expected_ = 0;  ///< threads that are here or will come
    std::map<std::thread::id, Present> present_;
    std::function<std::string(int)> task_name_;
    std::optional<Failure> failure_;
};

}  // namespace foreshard::runtime
