#pragma once

#include <vector>

#include "runtime/issue_order.hpp"

/// Which messages are issued as one group, so that both are under way at a time: of a steady 1F1B, sending an
/// activation and receiving a gradient from the same neighbour.
namespace foreshard::runtime {

/// Per task: the message of the same rank that is issued right behind it in one group, or -1. Two messages make a group
/// when they go between the same two ranks in opposite directions, and on both ranks no other task is issued between
/// them: so groups do not change what the order of issue allows.
/// @param order all tasks of the graph in the order in which they are issued; every rank issues its own
std::vector<std::int32_t> message_groups(const TaskGraph& graph, const std::vector<std::int32_t>& order);

/// Marks them in a rank's list of the same order.
void group_messages(IssueList& list, const std::vector<std::int32_t>& groups);

}  // namespace foreshard::runtime
