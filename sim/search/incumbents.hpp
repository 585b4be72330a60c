#pragma once

#include <map>
#include <set>

#include "sim/units.hpp"

/// The best plans that were simulated so far, and what they rule out.
namespace foreshard {

class Incumbents {
public:
    /// @param wanted best plans that are to be found
    explicit Incumbents(int wanted) : wanted_(wanted) {}

    /// A simulated plan that fits.
    void add(Picoseconds step_time, ByteCount memory);

    /// Whether a plan that takes at least so long and holds at least so much can neither be among the best nor belong
    /// to the front of step time against memory.
    bool rule_out(Picoseconds step_time, ByteCount memory) const;

    /// Step time by memory, of the plans that none beats in both: the faster, the more memory.
    const std::map<Picoseconds, ByteCount>& front() const { return front_; }

private:
    int wanted_;
    std::multiset<Picoseconds> best_;
    std::map<Picoseconds, ByteCount> front_;
};

}  // namespace foreshard
