#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

/// TCP connections with deadlines.
namespace foreshard::runtime {

using Deadline = std::chrono::steady_clock::time_point;
Deadline deadline_in(std::chrono::duration<double> time);

/// A file descriptor with an owner.
class Socket {
public:
    Socket() = default;
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Socket& operator=(Socket&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~Socket();

    int descriptor() const { return descriptor_; }
    explicit operator bool() const { return descriptor_ >= 0; }

private:
    int descriptor_ = -1;
};

enum class Transfer { done, timed_out, closed };

/// Tries again until somebody listens there. Without a connection at the deadline, `reason` says why not.
Socket connect_to(const std::string& host, int port, Deadline deadline, std::string& reason);

/// On all interfaces; port 0 is any free one. Empty when it cannot, and `reason` says why.
Socket listen_on(int port, std::string& reason);
int port_of(const Socket& listener);

void make_nonblocking(const Socket& socket);

Transfer send_all(const Socket& socket, std::span<const std::byte> data, Deadline deadline);
Transfer receive_all(const Socket& socket, std::span<std::byte> data, Deadline deadline);

}  // namespace foreshard::runtime
