#pragma once

#include "runtime/ranks.hpp"
#include "runtime/transport.hpp"

namespace foreshard::runtime {

/// Whom a rank meets in a communication task, and where.
struct Meeting {
    Channel channel;
    CollectiveKind kind = CollectiveKind::send_recv;
    std::vector<int> group;  ///< ascending; of a message the two ranks
    int peer = -1;           ///< of a message
};

/// Precondition: `task` is a communication task of the simulated rank that `rank` runs. A comm of one task stands for
/// the whole group of its axis, one of several for the ranks with the same place on the other axes.
Meeting meeting_of(const TaskGraph& graph, const Ranks& ranks, int rank, std::int32_t task);

/// The simulated rank that gives what a collective of the vocabulary lane sends to all; -1 where all bring their part.
int broadcast_root(const TaskGraph& graph, VocabularyUse use);

}  // namespace foreshard::runtime
