#pragma once

#include <chrono>
#include <span>

/// Times of a device on the host's clock.
namespace foreshard::runtime {

/// A moment of the device that lies between two readings of the host's clock.
struct Anchor {
    double device_ms = 0.0;
    std::chrono::steady_clock::time_point before;
    std::chrono::steady_clock::time_point after;
    std::chrono::steady_clock::duration width() const { return after - before; }
    std::chrono::steady_clock::time_point middle() const { return before + width() / 2; }
};

/// The narrowest. Precondition: there is one.
Anchor best_anchor(std::span<const Anchor> anchors);

/// Linear between two anchors, which takes out the drift of the clocks, and with equal rates where they are at one
/// moment. Beyond them it goes on.
class TimeAxis {
public:
    TimeAxis(const Anchor& first, const Anchor& last) : first_(first), last_(last) {}
    std::chrono::steady_clock::time_point at(double device_ms) const;

private:
    Anchor first_;
    Anchor last_;
};

}  // namespace foreshard::runtime
