#pragma once

#include <span>

#include "runtime/transport.hpp"

namespace foreshard::runtime {

/// A communication as one of its members saw it, on a clock that all share.
struct MemberTimes {
    Clock::time_point reached;  ///< by its queue
    Clock::time_point end;
};

/// How long a communication took once all were there: least over members of (end - latest reached), and at least 0.
/// What a member spent on it beyond that was waiting.
Clock::duration transfer_time(std::span<const MemberTimes> members);

}  // namespace foreshard::runtime
