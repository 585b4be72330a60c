#pragma once

#include <vector>

#include "sim/plan/task_graph.hpp"

/// In which order one thread a rank issues its tasks, and what must be told to the device's queues.
namespace foreshard::runtime {

/// All tasks in one order in which everything comes behind what it waits for: earlier tasks of its stream, its
/// dependencies and, for members of one comm, those of all members, which stand side by side. Ranks that each issue
/// their share in this order meet in the same order on every communicator, and cannot wait for each other in a ring.
/// Among what could come next, what starts first where passes take a unit of time (a whole backward two) and nothing
/// else takes any; then communication, so that messages that can go together stand together; then the smaller id.
/// @throws std::logic_error when tasks wait for each other in a ring
std::vector<std::int32_t> issue_order(const TaskGraph& graph);

/// One task of a rank as it is issued.
struct Issue {
    std::int32_t task = 0;
    int queue = 0;
    std::vector<std::int32_t> waits;  ///< tasks on other queues, each needed: no other wait, here or earlier, covers it
    bool awaited = false;             ///< a task on another queue waits for this one
    bool grouped_with_next = false;   ///< both are messages that are issued as one group (comm/message_groups.hpp)
};

struct IssueList {
    std::int32_t first_task = 0;
    std::int32_t tasks = 0;
    int queues = 0;
    std::vector<Issue> issues;
};

/// The share of a simulated rank: a queue per stream, 0 for compute.
IssueList issue_list(const TaskGraph& graph, int simulated_rank, const std::vector<std::int32_t>& order);

}  // namespace foreshard::runtime
