#pragma once

#include <array>
#include <string_view>

#include "sim/plan/op.hpp"
#include "sim/units.hpp"

/// The seam between what is computed and how long it takes.
namespace foreshard {

/// What limits an op.
enum class Bound : std::uint8_t { compute, memory, launch, host, network };
std::string_view to_string(Bound bound);

/// A time with its explanation: the terms sum to what was charged, or the largest of them was.
struct OpTime {
    struct Term {
        std::string_view name;
        Seconds seconds;
    };
    Seconds seconds;
    Bound bound = Bound::compute;
    std::array<Term, 3> terms;
    int term_count = 0;
};

class CostModel {
public:
    CostModel() = default;
    CostModel(const CostModel&) = delete;
    CostModel& operator=(const CostModel&) = delete;
    virtual ~CostModel() = default;

    /// Time of a kernel (any op but a collective) on an otherwise idle device.
    virtual OpTime time(const Op& op) const = 0;

    /// Time to stream bytes through memory (copies).
    virtual OpTime stream(Bytes bytes) const = 0;

    /// Time to update parameters: they, their gradients and states stream through memory, unless more is known.
    virtual OpTime optimizer(double /*parameters*/, Bytes moved) const { return stream(moved); }
};

}  // namespace foreshard
