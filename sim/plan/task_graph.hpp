#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/plan/data_parallel/gradient_buckets.hpp"
#include "sim/plan/op.hpp"
#include "sim/plan/schedule.hpp"
#include "sim/spec/data_parallel.hpp"
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
    param_gather,  ///< distributed optimizer, FSDP, ZeRO
    vocabulary,    ///< a collective of all pipeline ranks around passes S and T
    offload,       ///< saved tensors of a layer leave for the host after its forward
    reload,        ///< and come back for its backward
    step_end,      ///< fixed per-step work of the framework
};

enum class Lane : std::uint8_t {
    compute,
    send_forward,
    recv_forward,
    send_backward,
    recv_backward,
    dp,
    dp_replica,  ///< second level of data parallelism: between groups
    embedding,
    vocabulary,
    offload,  ///< to the host
    reload,   ///< from the host
};
std::string_view to_string(Lane lane);

/// What a collective of the vocabulary lane carries.
enum class VocabularyUse : std::uint8_t {
    none,
    hidden_state,  ///< last stage's output to all ranks
    maximum,       ///< softmax statistics, a value a token each
    target,
    sum,
    output_gradient,     ///< of the last stage's output
    embedding,           ///< rows looked up on all ranks, for the first stage
    embedding_gradient,  ///< of the first stage's input to all ranks
};
std::string_view to_string(VocabularyUse use);

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
    std::int32_t stage = 0;  ///< index into TaskGraph::stages; for the optimizer the pipeline rank
    Pass pass = Pass::forward;
    std::int32_t first_unit = 0;  ///< range of the stage's layers (units, see stage_units) in forward order
    std::int32_t units = 0;
    /// Comm classes that are in flight while it computes, or -1: they slow it down where nothing else models that.
    std::int32_t under[2] = {-1, -1};
};

/// A message or collective that ranks meet in.
struct CommClass {
    CollectiveKind kind = CollectiveKind::send_recv;
    Axis axis = Axis::pp;
    Bytes message;
    std::int32_t from_rank = 0;  ///< of a pair: simulated ranks
    std::int32_t to_rank = 0;
    std::int32_t every = 1;  ///< sent once in so many steps; a step bears its share
    std::int32_t parts = 1;  ///< messages that it is sent in, each with a latency of its own
    Seconds wait{};          ///< from the last member's arrival to the start, e.g. of a coordinator's cycle
};

/// Tasks that start together. Of a message the first member is the send, the second the receive. A single member stands
/// for all equal replicas.
struct Comm {
    std::int32_t comm_class = 0;
    std::int32_t first_member = 0;  ///< index into TaskGraph::comm_members
    std::int32_t members = 0;
};

struct Task {
    std::int32_t stream = 0;
    std::int32_t stage = -1;  ///< as in the schedule's action: S and T name their rank
    std::int32_t microbatch = -1;
    std::int32_t work = -1;  ///< index into TaskGraph::works; -1 for communication
    std::int32_t comm = -1;  ///< index into TaskGraph::comms; -1 for compute
    std::uint32_t first_dep = 0;
    std::uint16_t deps = 0;
    TaskKind kind = TaskKind::pass;
    Pass pass = Pass::forward;
    std::uint16_t step = 0;
    bool fused_with_next = false;
    VocabularyUse use = VocabularyUse::none;
};

/// Which real ranks a simulated rank stands for. Tensor and context parallel ranks of one replica move together, since
/// collectives inside their passes hold them to the slowest.
struct RankPlace {
    std::int32_t pp = 0;
    std::int32_t replica = -1;  ///< data-parallel index; -1: every replica
};

/// Sharded parameters from their gather to the end of their last use.
struct GatheredParameters {
    std::int32_t gather = 0;  ///< tasks
    std::int32_t first_use = 0;
    std::int32_t last_use = 0;
    double elements = 0.0;
};

/// Gradients of one group from the pass that makes them to their reduction.
struct ReducedGradients {
    std::int32_t producer = 0;  ///< tasks
    std::int32_t reduce = 0;
    double elements = 0.0;
};

/// Saved tensors of one layer and micro-batch that are on the host from the end of `offload` to the start of `reload`.
struct OffloadedTensors {
    std::int32_t offload = 0;  ///< tasks
    std::int32_t reload = 0;
    std::int32_t stage = 0;
    ByteCount bytes = 0;
};

struct TaskGraph {
    int ranks = 0;                  ///< simulated: one per pipeline rank, or one per pipeline rank and replica
    int pipeline_ranks = 0;         ///< simulated ranks of a replica stand side by side
    int ranks_represented = 1;      ///< real ranks that each stands for
    std::vector<RankPlace> places;  ///< per simulated rank
    int steps = 1;
    int window_step = 0;          ///< the step that figures are taken from
    bool asynchronous = false;    ///< steps flow into each other: no rank waits for the end of one
    int microbatches = 0;         ///< of a step
    std::vector<Stream> streams;  ///< sorted by rank, compute first
    std::vector<Task> tasks;
    std::vector<std::int32_t> deps;  ///< task ids on the same rank
    std::vector<Work> works;
    std::vector<Comm> comms;
    std::vector<std::int32_t> comm_members;  ///< task ids, those of a comm side by side
    std::vector<CommClass> comm_classes;
    std::vector<StageOps> stages;  ///< where all ranks share the vocabulary layers, the last is such a share
    std::vector<StageContents> layout;
    /// Per simulated rank: entries of `stages` that it holds, the vocabulary share last.
    std::vector<std::vector<int>> rank_stages;
    std::vector<GatheredParameters> gathered;
    std::vector<ReducedGradients> reduced;
    std::vector<OffloadedTensors> offloaded;

    /// Tasks that meet in comm number `comm`.
    std::span<const std::int32_t> members_of(std::int32_t comm) const {
        const Comm& c = comms[static_cast<std::size_t>(comm)];
        return std::span(comm_members)
            .subspan(static_cast<std::size_t>(c.first_member), static_cast<std::size_t>(c.members));
    }
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

/// By unit of the stage: bytes of saved tensors that wait on the host where those of the stage's first layers do.
std::vector<ByteCount> leaving_bytes(const StageOps& stage, int layers);
/// Layers that may be on their way to the host at a time, and as many on their way back or there before their turn.
inline constexpr int offload_buffers = 2;

/// The lookup of a micro-batch in a rank's share of the embedding, or its gradient, where it is a task apart from S, T.
bool is_lookup(const TaskGraph& graph, const Task& task);

/// Short name of a task: "2F0", "send 2F0", "optimizer".
std::string task_name(const TaskGraph& graph, std::int32_t task);

/// Compiles a job. Precondition: check(job) is empty and the schedule is valid.
/// @param buckets per stage: gradient buckets that follow from times (Horovod); empty: by the profile's rule
TaskGraph lower(const Job& job, const Schedule& schedule, const std::vector<StageBuckets>& buckets = {});

/// What two neighbouring stages exchange for one micro-batch: an activation, or its gradient.
Bytes pipeline_message(const Job& job);

/// Gradient of the tied embedding that the first and the last pipeline rank add up.
double embedding_gradient_bytes(const Job& job);

}  // namespace foreshard
