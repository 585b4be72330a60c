#pragma once

#include <string>

#include "runtime/executor.hpp"
#include "runtime/issue_order.hpp"

/// Issues the tasks of one rank from one thread, to a device that runs behind. The executor's counterpart: it waits for
/// nothing inside a run; dependencies between queues are the device's.
namespace foreshard::runtime {

/// What is done around two messages that are issued as one group.
struct GroupCalls {
    std::function<void()> begin;
    std::function<void()> end;
    std::function<void(std::int32_t task)> finish;  ///< after the end, for each of the two on its queue
};

/// Runs all tasks of the list; returns when the device is done with them. A task's span is from when its queue reached
/// it to its end; where the device blocks, communication starts as in the executor. With a blocking device and a
/// transport that blocks this works too, since lists of all ranks are shares of one order.
/// @param group without it, messages are issued one by one
/// @throws TransportError when a task throws
RankSpans launch(const TaskGraph& graph, const IssueList& list, int rank, WaitingRoom& room, Device& device,
                 const Perform& perform, Recording recording = Recording::on, const GroupCalls& group = {});

/// As torch.distributed.pipelining calls its actions, e.g. "0F1", "0SEND_F1", "1RECV_F1", "2REDUCE_GRAD"; what it does
/// not have has the graph's name.
std::string range_name(const TaskGraph& graph, std::int32_t task);

}  // namespace foreshard::runtime
