#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/device.hpp"
#include "runtime/transport.hpp"
#include "runtime/waiting_room.hpp"
#include "sim/plan/task_graph.hpp"

/// Walks the tasks of one rank: a thread per stream, tasks in the order of the graph, each after what it depends on.
/// It knows tasks, not schedules.
namespace foreshard::runtime {

/// When a task ran. Of communication, `start` is when the last member had arrived.
struct TaskSpan {
    Clock::time_point issued;  ///< its turn on its stream, dependencies done
    Clock::time_point start;
    Clock::time_point end;
};

/// Tasks of one rank, which are contiguous in a graph. Without spans when they were not recorded.
struct RankSpans {
    std::int32_t first_task = 0;
    std::vector<TaskSpan> spans;
};

/// The tasks of a simulated rank.
struct TaskRange {
    std::int32_t first = 0;
    std::int32_t last = 0;
};
TaskRange tasks_of(const TaskGraph& graph, int simulated_rank);

/// Does what a task says, and returns when communication began. Called from several threads, at most once at a time for
/// each stream.
using Perform = std::function<std::optional<Met>(std::int32_t task)>;

/// Runs all tasks of a simulated rank as the real rank `rank`. The calling thread, a guest of the room, runs the first
/// stream, which is compute.
/// @throws TransportError when a task throws, here or on another rank of the room
RankSpans execute(const TaskGraph& graph, int simulated_rank, int rank, WaitingRoom& room, const Perform& perform,
                  Recording recording = Recording::on);

}  // namespace foreshard::runtime
