#include "sim/search/incumbents.hpp"

#include <iterator>

namespace foreshard {

void Incumbents::add(Picoseconds step_time, ByteCount memory, Picoseconds busy_time) {
    best_.insert(weights_.value(step_time, busy_time));
    if (static_cast<int>(best_.size()) > wanted_) best_.erase(std::prev(best_.end()));
    auto after = front_.upper_bound(step_time);
    if (after != front_.begin() && std::prev(after)->second <= memory) return;
    // Those that take as long or longer and hold as much or more are beaten.
    auto first = front_.lower_bound(step_time);
    auto last = first;
    while (last != front_.end() && last->second >= memory) ++last;
    front_.erase(first, last);
    front_[step_time] = memory;
}

bool Incumbents::rule_out(Picoseconds step_time, ByteCount memory, Picoseconds busy_time) const {
    if (static_cast<int>(best_.size()) < wanted_ || weights_.value(step_time, busy_time) <= *best_.rbegin()) {
        return false;
    }
    const auto after = front_.upper_bound(step_time);
    return after != front_.begin() && std::prev(after)->second <= memory;
}

}  // namespace foreshard
