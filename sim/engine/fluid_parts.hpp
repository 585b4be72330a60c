#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sim/units.hpp"

/// Internal to the fluid path: what is in progress, and its events.
namespace foreshard {

/// Remaining work in picoseconds at full rate.
struct Progress {
    double left = 0.0;
    double rate = 1.0;
    Picoseconds since = 0;
    std::uint32_t version = 0;  ///< events of older versions are void

    /// Rate changes at `now`; returns when the work will be done.
    Picoseconds change(double new_rate, Picoseconds now) {
        left = std::max(left - rate * static_cast<double>(now - since), 0.0);
        rate = new_rate;
        since = now;
        ++version;
        return now + std::llround(left / rate);
    }
};

/// Cuts of a pass: kernels and exposed collectives in turn. Their lengths add up to the pass.
struct Phases {
    Picoseconds kernels = 0;
    Picoseconds collectives = 0;
    std::int32_t cycles = 1;
    std::int32_t at = 0;     ///< even: kernels, odd: collectives
    std::int32_t flow = -1;  ///< number in the network, during collectives

    std::int32_t count() const { return collectives > 0 ? 2 * cycles : 1; }
    bool communicates() const { return at % 2 == 1; }
    Picoseconds length() const {
        if (collectives == 0) return kernels;
        const Picoseconds part = communicates() ? collectives : kernels;
        return part * (at / 2 + 1) / cycles - part * (at / 2) / cycles;
    }
};

/// Collectives follow attention and MLP, so twice a layer; more cuts than these would only cost time.
constexpr std::int32_t most_cycles = 8;

enum class EventKind : std::uint8_t { computed, transferred, arrived };

struct Event {
    Picoseconds time = 0;
    std::uint64_t sequence = 0;
    EventKind kind = EventKind::computed;
    std::int32_t id = 0;  ///< stream of a compute task, else comm
    std::uint32_t version = 0;
    bool operator>(const Event& other) const {
        return time != other.time ? time > other.time : sequence > other.sequence;
    }
};

}  // namespace foreshard
