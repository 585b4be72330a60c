#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

#include "runtime/transport.hpp"

/// Non-blocking MPI calls that are waited for without spinning, with a timeout, and that end when another rank tells
/// that the job has failed.
namespace foreshard::runtime {

/// Tells all ranks that the job has failed, and hears it from others.
class MpiAlarm {
public:
    explicit MpiAlarm(int rank) : rank_(rank) {}

    /// The first reason counts.
    void raise(const std::string& reason);
    /// @throws TransportError when the job has failed
    void check();

    /// The calling thread begins, or has ended, to wait for what the text says.
    void begin_wait(const std::string& what);
    void end_wait();
    /// What threads of this rank wait for: "rank 1 (message of 32 bytes on pp); ..."
    std::string waits();

private:
    void listen();

    int rank_;
    std::mutex mutex_;
    std::atomic<bool> raised_ = false;
    int source_ = -1;
    std::string reason_;
    std::map<std::thread::id, std::string> waits_;
    std::deque<std::string> sent_;  ///< texts of sends that nobody waits for
};

/// Calls in flight. Their buffers must outlive wait().
class MpiRequests {
public:
    explicit MpiRequests(MpiAlarm& alarm) : alarm_(alarm) {}
    ~MpiRequests();
    MpiRequests(const MpiRequests&) = delete;
    MpiRequests& operator=(const MpiRequests&) = delete;

    void send(int peer, int tag, std::span<const std::byte> data);
    void receive(int peer, int tag, std::span<std::byte> data);

    /// Returns when all are done. @throws TransportError at the timeout, naming the peers that are still awaited
    void wait(std::chrono::duration<double> timeout, const std::string& what, int rank);
    /// Whether all are done by now.
    bool poll();

private:
    std::string awaited() const;

    MpiAlarm& alarm_;
    std::vector<MPI_Request> requests_;
    std::vector<int> peers_;
};

}  // namespace foreshard::runtime
