#include "runtime/launch/tcp_store.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include <fmt/format.h>

#include "runtime/launch/socket.hpp"
#include "runtime/launch/store_protocol.hpp"

namespace foreshard::runtime {

namespace {

/// Room is made as bytes come: a length may be nonsense.
Transfer receive_value(const Socket& socket, std::uint64_t bytes, std::vector<std::byte>& value, Deadline deadline) {
    constexpr std::uint64_t most_at_once = std::uint64_t{64} << 20;
    Transfer outcome = Transfer::done;
    while (outcome == Transfer::done && value.size() < bytes) {
        const std::size_t before = value.size();
        value.resize(before + std::min(bytes - before, most_at_once));
        outcome = receive_all(socket, std::span(value).subspan(before), deadline);
    }
    return outcome;
}

}  // namespace

class TcpStore::Impl {
public:
    Impl(StoreAddress address, std::chrono::duration<double> timeout)
        : address_(std::move(address)), timeout_(timeout) {
        give_back(open());
    }
    ~Impl();

    void set(const std::string& key, std::span<const std::byte> value, int reads) {
        call(encode(StoreCall::set, reads, key, value), "set " + key, timeout_);
    }
    std::vector<std::byte> get(const std::string& key, std::chrono::duration<double> timeout) {
        return call(encode(StoreCall::get, 0, key, {}), key, timeout).value;
    }
    void fail(int rank, const std::string& reason);
    std::string where() const { return fmt::format("{}:{}", address_.host, address_.port); }
    Clock::time_point clock() {
        return Clock::time_point(
            Clock::duration(call(encode(StoreCall::clock, 0, "", {}), "the clock", timeout_).number));
    }

private:
    Socket open();
    Socket take();
    void give_back(Socket socket);
    StoreFrame call(std::span<const std::byte> request, const std::string& what, std::chrono::duration<double> timeout);
    StoreFrame exchange(const Socket& socket, std::span<const std::byte> request, const std::string& what,
                        Deadline deadline);
    [[noreturn]] void refuse(const std::string& what) const;
    [[noreturn]] void refuse(Transfer outcome, const std::string& what);

    StoreAddress address_;
    std::chrono::duration<double> timeout_;
    std::mutex mutex_;
    std::vector<Socket> idle_;
    std::atomic<bool> lost_ = false;
};

void TcpStore::Impl::refuse(const std::string& what) const {
    throw TransportError(address_.rank, fmt::format("rank {}: the store at {}:{} {}", address_.rank, address_.host,
                                                    address_.port, what));
}

void TcpStore::Impl::refuse(Transfer outcome, const std::string& what) {
    lost_ = lost_ || outcome == Transfer::closed;
    if (outcome == Transfer::timed_out) refuse(fmt::format("gave no answer in time: nobody brought {}", what));
    refuse(
        fmt::format("closed the connection (the process of rank 0 has ended, or no Foreshard store is there); "
                    "awaited was {}",
                    what));
}

Socket TcpStore::Impl::open() {
    // A server that has gone does not come again.
    const Deadline deadline = lost_ ? deadline_in(std::chrono::milliseconds(10)) : deadline_in(timeout_);
    std::string reason = "nobody answers";
    Socket socket = connect_to(address_.host, address_.port, deadline, reason);
    if (!socket) {
        throw TransportError(address_.rank,
                             fmt::format("rank {} found no store at {}:{} within {:g} s: {}. Is rank 0 started, is "
                                         "MASTER_ADDR its host, and does a firewall let the port through?",
                                         address_.rank, address_.host, address_.port, timeout_.count(), reason));
    }
    const StoreFrame answer =
        exchange(socket, encode(StoreCall::hello, address_.rank, address_.run_id, {}), "a greeting", deadline);
    if (answer.call != StoreCall::ok) refuse("refuses this process: " + text_of(answer.value));
    return socket;
}

StoreFrame TcpStore::Impl::exchange(const Socket& socket, std::span<const std::byte> request, const std::string& what,
                                    Deadline deadline) {
    std::vector<std::byte> head(store_header_bytes);
    Transfer outcome = send_all(socket, request, deadline);
    if (outcome == Transfer::done) outcome = receive_all(socket, head, deadline);
    if (outcome != Transfer::done) refuse(outcome, what);
    const auto header = decode_header(head);
    if (!header) refuse("does not speak as a Foreshard store does: another program has this port");
    StoreFrame answer;
    answer.call = header->call;
    answer.number = header->number;
    answer.key.resize(header->key_bytes);
    outcome = receive_all(socket, std::as_writable_bytes(std::span(answer.key)), deadline);
    if (outcome == Transfer::done) outcome = receive_value(socket, header->value_bytes, answer.value, deadline);
    if (outcome != Transfer::done) refuse(outcome, what);
    return answer;
}

/// A connection whose call did not end well is dropped with the socket: an answer may still come on it.
StoreFrame TcpStore::Impl::call(std::span<const std::byte> request, const std::string& what,
                                std::chrono::duration<double> timeout) {
    Socket socket = take();
    StoreFrame answer;
    try {
        answer = exchange(socket, request, what, deadline_in(timeout));
    } catch (const TransportError&) {
        send_all(socket, encode(StoreCall::bye, 0, "", {}), deadline_in(std::chrono::milliseconds(100)));
        throw;
    }
    give_back(std::move(socket));
    if (answer.call == StoreCall::failed) {
        throw TransportError(static_cast<int>(answer.number), text_of(answer.value));
    }
    return answer;
}

void TcpStore::Impl::fail(int rank, const std::string& reason) {
    try {
        call(encode(StoreCall::fail, rank, "", bytes_of(reason)), "fail", std::chrono::seconds(2));
    } catch (const TransportError&) {
        return;  // the store is gone; its loss tells the others
    }
}

Socket TcpStore::Impl::take() {
    {
        const std::lock_guard<std::mutex> held(mutex_);
        if (!idle_.empty()) {
            Socket socket = std::move(idle_.back());
            idle_.pop_back();
            return socket;
        }
    }
    return open();
}

void TcpStore::Impl::give_back(Socket socket) {
    const std::lock_guard<std::mutex> held(mutex_);
    idle_.push_back(std::move(socket));
}

TcpStore::Impl::~Impl() {
    for (const Socket& socket : idle_) {
        send_all(socket, encode(StoreCall::bye, 0, "", {}), deadline_in(std::chrono::milliseconds(100)));
    }
}

TcpStore::TcpStore(const StoreAddress& address, std::chrono::duration<double> timeout)
    : impl_(std::make_unique<Impl>(address, timeout)) {}

TcpStore::~TcpStore() = default;

Store TcpStore::store() {
    Impl& impl = *impl_;
    Store store = store_of(impl);
    store.check = [&impl] { impl.clock(); };
    store.clock = [&impl] { return impl.clock(); };
    return store;
}

}  // namespace foreshard::runtime
