#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan/op.hpp"
#include "sim/plan/schedule.hpp"
#include "sim/spec/layout.hpp"

/// Who does what, in which order, with how many FLOPs and bytes, and no times. The simulator and the runtime run this.
namespace foreshard {

enum class TaskKind : std::uint8_t {
    pass,  ///< an action of the schedule, or a part of one
    send,  ///< of an activation or a gradient
    recv,
    grad_reduce,       ///< all-reduce or reduce-scatter over data parallel ranks
    embedding_reduce,  ///< tied embedding, first with last pipeline rank
    optimizer,
    param_gather,  ///< distributed optimizer
    step_end,      ///< fixed per-step work of the framework
};

enum class Lane : std::uint8_t { compute, send_forward, recv_forward, send_backward, recv_backward, dp, embedding };
std::string_view to_string(Lane lane);

/// In-order queue of one rank. Its tasks are the contiguous ids [first, last).
struct Stream {
    std::int32_t rank = 0;
    std::int32_t peer = -1;  ///< of p2p lanes
    Lane lane = Lane::compute;
    std::int32_t first = 0;
    std::int32_t last = 0;
};

/// What a task computes; tasks with equal work share an entry, so every cost is computed once.
struct Work {
    TaskKind kind = TaskKind::pass;
    std::int32_t stage = 0;  ///< passes; for the optimizer the pipeline rank
    Pass pass = Pass::forward;
    std::int32_t first_unit = 0;  ///< range of the stage's layers (units, see stage_units) in forward order
    std::int32_t units = 0;
};

/// A message or collective that ranks meet in.
struct CommClass {
    CollectiveKind kind = CollectiveKind::send_recv;
    Axis axis = Axis::pp;
    Bytes message;
    std::int32_t from_rank = 0;  ///< p2p: pipeline ranks
    std::int32_t to_rank = 0;
};

struct Comm {
    std::int32_t comm_class = 0;
    std::int32_t members[2] = {-1, -1};  ///< tasks; one member stands for all equal replicas
};

struct Task {
    std::int32_t stream = 0;
    std::int32_t stage = -1;
    std::int32_t microbatch = -1;
    std::int32_t work = -1;  ///< index into TaskGraph::works; -1 for communication
    std::int32_t comm = -1;  ///< index into TaskGraph::comms; -1 for compute
    std::uint32_t first_dep = 0;
    std::uint16_t deps = 0;
    TaskKind kind = TaskKind::pass;
    Pass pass = Pass::forward;
    std::uint16_t step = 0;
    bool fused_with_next = false;
};

struct TaskGraph {
    int ranks = 0;              ///< simulated: one per pipeline rank
    int ranks_represented = 1;  ///< real ranks that each stands for
    int steps = 1;
    int window_step = 0;          ///< the step that figures are taken from
    bool asynchronous = false;    ///< steps flow into each other: no rank waits for the end of one
    int microbatches = 0;         ///< of a step
    std::vector<Stream> streams;  ///< sorted by rank, compute first
    std::vector<Task> tasks;
    std::vector<std::int32_t> deps;  ///< task ids on the same rank
    std::vector<Work> works;
    std::vector<Comm> comms;
    std::vector<CommClass> comm_classes;
    std::vector<StageOps> stages;
    std::vector<StageContents> layout;
    std::vector<std::vector<int>> rank_stages;

    int rank_of(std::int32_t task) const {
        return streams[static_cast<std::size_t>(tasks[static_cast<std::size_t>(task)].stream)].rank;
    }
    const Stream& stream_of(std::int32_t task) const {
        return streams[static_cast<std::size_t>(tasks[static_cast<std::size_t>(task)].stream)];
    }
};

/// One repeat of one block of a stage, in forward order; the grain at which gradients become ready.
struct Unit {
    int block = 0;
    int repeat = 0;
};
std::vector<Unit> stage_units(const StageOps& stage);

/// Short name of a task: "2F0", "send 2F0", "optimizer".
std::string task_name(const TaskGraph& graph, std::int32_t task);

/// Compiles a job. Precondition: check(job) is empty and the schedule is valid.
TaskGraph lower(const Job& job, const Schedule& schedule);

/// Activation or gradient of one micro-batch that a rank sends over a stage boundary.
Bytes boundary_message(const Job& job);

/// Sharding of optimizer state and gradients over data parallel ranks.
bool shards_optimizer(const ParallelPlan& plan);

}  // namespace foreshard
