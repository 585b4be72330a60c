#pragma once

#include <vector>

#include "runtime/meeting.hpp"

/// Which communicators a plan needs, where a library makes them before they are used, all ranks together.
namespace foreshard::runtime {

/// Ranks that call each other on a channel. Messages have one for every direction of every pair: what one rank does on
/// it is one stream's work, and nothing on it holds up another stream.
struct Communicator {
    Channel channel;
    bool message = false;
    std::vector<int> members;  ///< of a message sender and receiver, else ascending
    bool operator==(const Communicator&) const = default;
    bool operator<(const Communicator& other) const;
};
std::string to_string(const Communicator& communicator);

Communicator message_communicator(Channel channel, int sender, int receiver);
Communicator group_communicator(Channel channel, std::span<const int> group);

/// Everything that the plan's tasks meet on, the same list on every rank. Groups of one rank need none.
std::vector<Communicator> communicators_of(const Job& job, const TaskGraph& graph, const Ranks& ranks);

/// Communicators that are made at a time, as indices: those of a round have no rank in common. All ranks split the
/// world once for every round, in this order.
std::vector<std::vector<int>> split_rounds(const std::vector<Communicator>& communicators);

}  // namespace foreshard::runtime
