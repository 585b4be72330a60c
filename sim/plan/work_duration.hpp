#pragma once

#include <array>
#include <cstdint>
#include <numeric>

#include "sim/units.hpp"

namespace foreshard {

/// What a compute task's time is spent on, in the order in which the parts are laid out in time.
/// exposed_dp: what compute loses to data-parallel communication that runs beside it.
enum class Spent : std::uint8_t { compute, recompute, exposed_tp, exposed_cp, exposed_ep, host, exposed_dp, offload };
inline constexpr int spent_count = 8;

/// part x length / whole, rounded down; exactly `part` where length is whole.
inline Picoseconds scaled(Picoseconds part, Picoseconds length, Picoseconds whole) {
    if (length == whole || whole == 0) return part;
    return static_cast<Picoseconds>(static_cast<double>(part) / static_cast<double>(whole) *
                                    static_cast<double>(length));
}

struct WorkDuration {
    std::array<Picoseconds, spent_count> spent{};
    /// Of collectives inside a pass.
    Picoseconds collectives() const {
        return spent[static_cast<std::size_t>(Spent::exposed_tp)] + spent[static_cast<std::size_t>(Spent::exposed_cp)] +
               spent[static_cast<std::size_t>(Spent::exposed_ep)];
    }
    Picoseconds total() const { return std::accumulate(spent.begin(), spent.end(), Picoseconds{0}); }
};

}  // namespace foreshard
