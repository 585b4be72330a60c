#pragma once

#include <exception>
#include <stop_token>

/// Long work that ends early when nobody wants its result any more.
namespace foreshard {

/// Thrown by work that was asked to stop.
struct Stopped : std::exception {
    const char* what() const noexcept override { return "stopped"; }
};

/// @throws Stopped when `stop` was requested
inline void check_stop(const std::stop_token& stop) {
    if (stop.stop_requested()) throw Stopped();
}

}  // namespace foreshard
