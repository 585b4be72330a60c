#include "runtime/launch/store_server.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "runtime/launch/socket.hpp"
#include "runtime/launch/store_protocol.hpp"
#include "runtime/transport.hpp"

namespace foreshard::runtime {

namespace {

struct Connection {
    Socket socket;
    std::vector<std::byte> in;
    std::vector<std::byte> out;
    std::size_t sent = 0;  ///< of out
    std::string awaited;   ///< key of a get without answer yet
    int rank = -1;
    bool waits = false;
    bool greeted = false;
    bool bye = false;
    bool ending = false;  ///< closed once `out` is sent
    bool closed = false;
};

struct Value {
    std::vector<std::byte> bytes;
    std::int64_t reads_left = 0;  ///< 0: kept
};

}  // namespace

class StoreServer::Impl {
public:
    Impl(Socket listener, std::string run_id)
        : listener_(std::move(listener)), run_id_(std::move(run_id)), thread_([this] { serve(); }) {}
    ~Impl() {
        stop_ = true;
        thread_.join();
    }
    int port() const { return port_of(listener_); }

private:
    void serve();
    void poll_once();
    void accept_all();
    void read_from(Connection& connection);
    void take_frames(Connection& connection);
    void handle(Connection& connection, const StoreHeader& header, std::string key, std::vector<std::byte> value);
    void greet(Connection& connection, int rank, const std::string& run_id);
    void set(const std::string& key, Value value);
    void fail(int rank, const std::string& reason);
    void lose(Connection& connection);
    bool answer_from_store(Connection& connection, const std::string& key);
    void answer(Connection& connection, StoreCall call, std::int64_t number, std::span<const std::byte> value);
    void flush(Connection& connection);

    Socket listener_;
    std::string run_id_;
    std::list<Connection> connections_;
    std::map<std::string, Value> values_;
    bool failed_ = false;
    int failed_rank_ = -1;
    std::string reason_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

void StoreServer::Impl::serve() {
    constexpr std::chrono::seconds patience{5};
    std::optional<Deadline> end;
    while (true) {
        if (stop_ && !end) end = deadline_in(patience);
        if (end && (connections_.empty() || Clock::now() >= *end)) return;
        poll_once();
    }
}

void StoreServer::Impl::poll_once() {
    constexpr int wake_ms = 50;  // to see whether it is to stop
    std::vector<pollfd> entries{{listener_.descriptor(), POLLIN, 0}};
    for (const Connection& connection : connections_) {
        const bool writes = connection.sent < connection.out.size();
        entries.push_back({connection.socket.descriptor(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
    }
    if (poll(entries.data(), entries.size(), wake_ms) <= 0) return;
    auto entry = entries.begin() + 1;
    for (Connection& connection : connections_) {
        if (entry->revents != 0) {
            flush(connection);
            read_from(connection);
        }
        ++entry;
    }
    connections_.remove_if([](const Connection& connection) { return connection.closed; });
    if (entries.front().revents != 0) accept_all();
}

void StoreServer::Impl::accept_all() {
    while (true) {
        Socket socket(accept(listener_.descriptor(), nullptr, nullptr));
        if (!socket) return;
        make_nonblocking(socket);
        const int on = 1;
        setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connections_.emplace_back().socket = std::move(socket);
    }
}

/// So much at a time: a connection that sends without end must not keep the others waiting.
void StoreServer::Impl::read_from(Connection& connection) {
    constexpr int chunks_a_turn = 64;
    std::array<std::byte, 65536> chunk;
    for (int i = 0; i < chunks_a_turn && !connection.closed; ++i) {
        const ssize_t got = recv(connection.socket.descriptor(), chunk.data(), chunk.size(), 0);
        if (got > 0) {
            connection.in.insert(connection.in.end(), chunk.begin(), chunk.begin() + got);
            continue;
        }
        const bool later = got < 0 && (errno == EAGAIN || errno == EINTR);
        take_frames(connection);
        if (!later) lose(connection);
        return;
    }
    take_frames(connection);
}

void StoreServer::Impl::take_frames(Connection& connection) {
    std::size_t at = 0;
    while (!connection.ending && connection.in.size() - at >= store_header_bytes) {
        const std::span rest = std::span<const std::byte>(connection.in).subspan(at);
        const auto header = decode_header(rest);
        // Another program, which would not understand an answer; greetings have no value that is to be waited for.
        if (!header || (!connection.greeted && header->value_bytes > 0)) {
            connection.bye = true;
            connection.closed = true;
            return;
        }
        const std::uint64_t size = store_header_bytes + header->key_bytes + header->value_bytes;
        if (rest.size() < size) break;
        const auto value = rest.subspan(store_header_bytes + header->key_bytes, header->value_bytes);
        handle(connection, *header, text_of(rest.subspan(store_header_bytes, header->key_bytes)),
               {value.begin(), value.end()});
        at += size;
    }
    connection.in.erase(connection.in.begin(), connection.in.begin() + static_cast<std::ptrdiff_t>(at));
}

void StoreServer::Impl::handle(Connection& connection, const StoreHeader& header, std::string key,
                               std::vector<std::byte> value) {
    if (header.call == StoreCall::hello) return greet(connection, static_cast<int>(header.number), key);
    if (!connection.greeted) {
        connection.ending = true;
        return answer(connection, StoreCall::refused, 0, bytes_of("no greeting came first"));
    }
    switch (header.call) {
        case StoreCall::set:
            set(key, {std::move(value), header.number});
            return answer(connection, StoreCall::ok, 0, {});
        case StoreCall::get:
            if (answer_from_store(connection, key)) return;
            connection.waits = true;
            connection.awaited = std::move(key);
            return;
        case StoreCall::clock:
            if (failed_) return answer(connection, StoreCall::failed, failed_rank_, bytes_of(reason_));
            return answer(connection, StoreCall::ok, Clock::now().time_since_epoch().count(), {});
        case StoreCall::fail:
            fail(static_cast<int>(header.number), text_of(value));
            return answer(connection, StoreCall::ok, 0, {});
        case StoreCall::bye:
            connection.bye = true;
            return;
        case StoreCall::hello:
        case StoreCall::ok:
        case StoreCall::failed:
        case StoreCall::refused:
            connection.ending = true;
            return answer(connection, StoreCall::refused, 0, bytes_of("a client does not call this"));
    }
}

void StoreServer::Impl::greet(Connection& connection, int rank, const std::string& run_id) {
    connection.rank = rank;
    if (run_id == run_id_) {
        connection.greeted = true;
        return answer(connection, StoreCall::ok, 0, {});
    }
    connection.bye = true;
    connection.ending = true;
    answer(connection, StoreCall::refused, 0,
           bytes_of(fmt::format("it belongs to run '{}', but rank {} came from run '{}'", run_id_, rank, run_id)));
}

void StoreServer::Impl::set(const std::string& key, Value value) {
    values_[key] = std::move(value);
    for (Connection& connection : connections_) {
        if (!connection.waits || connection.awaited != key) continue;
        connection.waits = !answer_from_store(connection, key);
    }
}

void StoreServer::Impl::fail(int rank, const std::string& reason) {
    if (failed_) return;
    failed_ = true;
    failed_rank_ = rank;
    reason_ = reason;
    for (Connection& connection : connections_) {
        if (connection.waits) connection.waits = !answer_from_store(connection, connection.awaited);
    }
}

/// Whether there was an answer. A value that is there is given out even after a failure.
bool StoreServer::Impl::answer_from_store(Connection& connection, const std::string& key) {
    const auto found = values_.find(key);
    if (found == values_.end()) {
        if (failed_) answer(connection, StoreCall::failed, failed_rank_, bytes_of(reason_));
        return failed_;
    }
    answer(connection, StoreCall::ok, 0, found->second.bytes);
    if (found->second.reads_left > 0 && --found->second.reads_left == 0) values_.erase(found);
    return true;
}

void StoreServer::Impl::lose(Connection& connection) {
    connection.closed = true;
    if (connection.bye || !connection.greeted) return;
    fail(connection.rank, fmt::format("rank {} is lost: its process closed the connection to the store without a word",
                                      connection.rank));
}

void StoreServer::Impl::answer(Connection& connection, StoreCall call, std::int64_t number,
                               std::span<const std::byte> value) {
    const std::vector<std::byte> frame = encode(call, number, "", value);
    connection.out.insert(connection.out.end(), frame.begin(), frame.end());
    flush(connection);
}

void StoreServer::Impl::flush(Connection& connection) {
    while (connection.sent < connection.out.size()) {
        const ssize_t sent = send(connection.socket.descriptor(), connection.out.data() + connection.sent,
                                  connection.out.size() - connection.sent, MSG_NOSIGNAL);
        if (sent < 0) return;  // later, or its end is seen by reading
        connection.sent += static_cast<std::size_t>(sent);
    }
    connection.out.clear();
    connection.sent = 0;
    if (connection.ending) connection.closed = true;
}

StoreServer::StoreServer(int port, std::string run_id) {
    std::string reason;
    Socket listener = listen_on(port, reason);
    if (!listener) {
        throw TransportError(
            0, fmt::format("rank 0 cannot listen on port {}: {}; MASTER_PORT names another", port, reason));
    }
    impl_ = std::make_unique<Impl>(std::move(listener), std::move(run_id));
}

StoreServer::~StoreServer() = default;

int StoreServer::port() const {
    return impl_->port();
}

}  // namespace foreshard::runtime
