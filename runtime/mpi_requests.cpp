#include "runtime/mpi_requests.hpp"

#include <algorithm>
#include <limits>
#include <thread>

#include <fmt/format.h>

namespace foreshard::runtime {

namespace {

constexpr int alarm_tag = 30000;

/// MPI counts in int: longer messages go in pieces.
constexpr std::size_t most_bytes = std::size_t{1} << 30;

/// How long to sleep between two looks at a wait: long waits may end a little late, but do not take the processor from
/// ranks that compute. At most a twentieth of the wait is added.
std::chrono::microseconds pause_after(Clock::duration waited) {
    using std::chrono::microseconds;
    const auto share = std::chrono::duration_cast<microseconds>(waited / 20);
    return std::clamp(share, microseconds(20), microseconds(500));
}

constexpr std::chrono::milliseconds alarm_interval(10);

}  // namespace

void MpiAlarm::raise(const std::string& reason) {
    const std::lock_guard<std::mutex> held(mutex_);
    if (raised_) return;
    source_ = rank_;
    reason_ = reason;
    raised_ = true;
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    sent_.push_back(reason);
    for (int peer = 0; peer < size; ++peer) {
        if (peer == rank_) continue;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(sent_.back().data(), static_cast<int>(sent_.back().size()), MPI_CHAR, peer, alarm_tag, MPI_COMM_WORLD,
                  &request);
        MPI_Request_free(&request);
    }
}

void MpiAlarm::listen() {
    const std::lock_guard<std::mutex> held(mutex_);
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, alarm_tag, MPI_COMM_WORLD, &there, &status);
    if (there == 0 || raised_) return;
    int length = 0;
    MPI_Get_count(&status, MPI_CHAR, &length);
    reason_.resize(static_cast<std::size_t>(length));
    MPI_Recv(reason_.data(), length, MPI_CHAR, status.MPI_SOURCE, alarm_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    source_ = status.MPI_SOURCE;
    raised_ = true;
}

void MpiAlarm::check() {
    if (!raised_) listen();
    if (raised_) throw TransportError(source_, reason_);
}

void MpiAlarm::begin_wait(const std::string& what) {
    const std::lock_guard<std::mutex> held(mutex_);
    waits_[std::this_thread::get_id()] = what;
}

void MpiAlarm::end_wait() {
    const std::lock_guard<std::mutex> held(mutex_);
    waits_.erase(std::this_thread::get_id());
}

std::string MpiAlarm::waits() {
    const std::lock_guard<std::mutex> held(mutex_);
    std::string text;
    for (const auto& [thread, what] : waits_) text += (text.empty() ? "" : "; ") + what;
    return text;
}

/// After a failure the job ends; what is still in flight is given up.
MpiRequests::~MpiRequests() {
    for (MPI_Request& request : requests_) {
        if (request == MPI_REQUEST_NULL) continue;
        MPI_Cancel(&request);
        MPI_Request_free(&request);
    }
}

void MpiRequests::send(int peer, int tag, std::span<const std::byte> data) {
    do {
        const std::span<const std::byte> piece = data.first(std::min(data.size(), most_bytes));
        requests_.push_back(MPI_REQUEST_NULL);
        peers_.push_back(peer);
        MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, peer, tag, MPI_COMM_WORLD, &requests_.back());
        data = data.subspan(piece.size());
    } while (!data.empty());
}

void MpiRequests::receive(int peer, int tag, std::span<std::byte> data) {
    do {
        const std::span<std::byte> piece = data.first(std::min(data.size(), most_bytes));
        requests_.push_back(MPI_REQUEST_NULL);
        peers_.push_back(peer);
        MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, peer, tag, MPI_COMM_WORLD, &requests_.back());
        data = data.subspan(piece.size());
    } while (!data.empty());
}

void MpiRequests::wait(std::chrono::duration<double> timeout, const std::string& what, int rank) {
    constexpr int eager_tries = 20;
    const Clock::time_point begin = Clock::now();
    for (int tries = 0; tries < eager_tries; ++tries) {
        if (poll()) return;
        std::this_thread::yield();
    }
    alarm_.begin_wait(fmt::format("rank {} ({})", awaited(), what));
    Clock::duration next_check(0);
    while (!poll()) {
        const Clock::duration waited = Clock::now() - begin;
        if (waited >= next_check) {
            alarm_.check();
            next_check = waited + alarm_interval;
        }
        if (waited > timeout) {
            throw TransportError(rank, fmt::format("nothing came within {:g} s: rank {} waits for rank {} ({})",
                                                   timeout.count(), rank, awaited(), what));
        }
        std::this_thread::sleep_for(pause_after(waited));
    }
    alarm_.end_wait();
}

bool MpiRequests::poll() {
    int done = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
    return done != 0;
}

std::string MpiRequests::awaited() const {
    std::vector<int> peers;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        if (requests_[i] != MPI_REQUEST_NULL) peers.push_back(peers_[i]);
    }
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    std::string text;
    for (const int peer : peers) text += fmt::format("{}{}", text.empty() ? "" : ", ", peer);
    return text;
}

}  // namespace foreshard::runtime
