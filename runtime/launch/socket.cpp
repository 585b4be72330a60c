#include "runtime/launch/socket.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace foreshard::runtime {

namespace {

using Clock = std::chrono::steady_clock;
using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

int milliseconds_until(Deadline deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

/// Whether the socket became ready before the deadline.
bool await(const Socket& socket, short event, Deadline deadline) {
    pollfd entry{socket.descriptor(), event, 0};
    while (true) {
        const int ready = poll(&entry, 1, milliseconds_until(deadline));
        if (ready > 0) return true;
        if (ready == 0 || errno != EINTR) return false;
    }
}

Addresses resolve(const std::string& host, int port, std::string& reason) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (error != 0) reason = gai_strerror(error);
    return {error == 0 ? found : nullptr, &freeaddrinfo};
}

void send_at_once(const Socket& socket) {
    const int on = 1;
    setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Socket try_connect(const addrinfo& address, Deadline deadline, std::string& reason) {
    Socket socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, address.ai_protocol));
    if (!socket) {
        reason = std::strerror(errno);
        return {};
    }
    make_nonblocking(socket);
    if (connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) != 0) {
        if (errno != EINPROGRESS) {
            reason = std::strerror(errno);
            return {};
        }
        int error = ETIMEDOUT;
        socklen_t size = sizeof error;
        if (await(socket, POLLOUT, deadline)) getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0) {
            reason = std::strerror(error);
            return {};
        }
    }
    send_at_once(socket);
    return socket;
}

}  // namespace

Deadline deadline_in(std::chrono::duration<double> time) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
}

Socket::~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
}

void make_nonblocking(const Socket& socket) {
    fcntl(socket.descriptor(), F_SETFL, fcntl(socket.descriptor(), F_GETFL) | O_NONBLOCK);
}

Socket connect_to(const std::string& host, int port, Deadline deadline, std::string& reason) {
    constexpr std::chrono::milliseconds pause{50};
    while (true) {
        const Addresses addresses = resolve(host, port, reason);
        for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
            if (Socket socket = try_connect(*address, deadline, reason)) return socket;
        }
        if (Clock::now() + pause >= deadline) return {};
        std::this_thread::sleep_for(pause);
    }
}

Socket listen_on(int port, std::string& reason) {
    Socket socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_any;
    any.sin6_port = htons(static_cast<std::uint16_t>(port));
    sockaddr_in any4{};
    any4.sin_family = AF_INET;
    any4.sin_port = any.sin6_port;
    const auto* address = reinterpret_cast<const sockaddr*>(&any);
    socklen_t size = sizeof any;
    const int on = 1;
    const int off = 0;
    if (socket) {
        setsockopt(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    } else {  // a host without IPv6
        socket = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        address = reinterpret_cast<const sockaddr*>(&any4);
        size = sizeof any4;
    }
    setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!socket || bind(socket.descriptor(), address, size) != 0 || listen(socket.descriptor(), SOMAXCONN) != 0) {
        reason = std::strerror(errno);
        return {};
    }
    make_nonblocking(socket);
    return socket;
}

int port_of(const Socket& listener) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    getsockname(listener.descriptor(), reinterpret_cast<sockaddr*>(&address), &size);
    if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

Transfer send_all(const Socket& socket, std::span<const std::byte> data, Deadline deadline) {
    while (!data.empty()) {
        if (!await(socket, POLLOUT, deadline)) return Transfer::timed_out;
        const ssize_t sent = ::send(socket.descriptor(), data.data(), data.size(), MSG_NOSIGNAL);
        if (sent >= 0) {
            data = data.subspan(static_cast<std::size_t>(sent));
        } else if (errno != EAGAIN && errno != EINTR) {
            return Transfer::closed;
        }
    }
    return Transfer::done;
}

Transfer receive_all(const Socket& socket, std::span<std::byte> data, Deadline deadline) {
    while (!data.empty()) {
        if (!await(socket, POLLIN, deadline)) return Transfer::timed_out;
        const ssize_t got = ::recv(socket.descriptor(), data.data(), data.size(), 0);
        if (got == 0) return Transfer::closed;
        if (got > 0) {
            data = data.subspan(static_cast<std::size_t>(got));
        } else if (errno != EAGAIN && errno != EINTR) {
            return Transfer::closed;
        }
    }
    return Transfer::done;
}

}  // namespace foreshard::runtime
