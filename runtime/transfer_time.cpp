#include "runtime/transfer_time.hpp"

#include <algorithm>

namespace foreshard::runtime {

Clock::duration transfer_time(std::span<const MemberTimes> members) {
    if (members.empty()) return Clock::duration::zero();
    Clock::time_point last = members.front().reached;
    for (const MemberTimes& member : members) last = std::max(last, member.reached);
    Clock::duration least = Clock::duration::max();
    for (const MemberTimes& member : members) least = std::min(least, member.end - last);
    return std::max(least, Clock::duration::zero());
}

}  // namespace foreshard::runtime
