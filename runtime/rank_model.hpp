#pragma once

#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/data.hpp"
#include "runtime/device.hpp"
#include "runtime/memory_pool.hpp"
#include "runtime/op_spans.hpp"
#include "runtime/transport.hpp"
#include "sim/plan/task_graph.hpp"

/// The numerics of one rank: parameters, tensors between passes, and the ops of every pass, as the task graph lists
/// them. Knows no schedule; the caller decides what runs when.
namespace foreshard::runtime {

enum class OptimizerKind : std::uint8_t { adamw, sgd };

enum class Direction : std::uint8_t { forward, backward };

struct ModelOptions {
    std::uint64_t seed = 1;  ///< of the parameters
    DataSource data;
    OptimizerKind optimizer = OptimizerKind::adamw;
    AdamStep update;  ///< its learning rate is SGD's too
    /// Per stage (as in TaskGraph::rank_stages): elements whose optimizer state this rank keeps, as ranges of
    /// parameters(stage). Empty: all. Not used where parameters are sharded.
    std::vector<std::vector<Range>> owned;
    Poison poison = Poison::on;
    std::vector<std::string>* op_log = nullptr;  ///< gets the name of every op that is run
    std::vector<MemoryEvent>* memory_log = nullptr;
};

/// What a pass, or a part of one, did to the memory of activations, in bytes.
struct PassMemory {
    std::int64_t change = 0;  ///< held after it minus held before it; messages are counted once taken over
    std::int64_t most = 0;    ///< most inside it minus held before it
};

class RankWork;

class RankModel {
public:
    /// @param rank global, as in RankGrid
    /// @throws InputError when the runtime cannot run such a job (experts, context parallelism, ...)
    RankModel(const Job& job, const TaskGraph& graph, int rank, Device& device, Transport& transport,
              ModelOptions options);
    ~RankModel();
    RankModel(const RankModel&) = delete;
    RankModel& operator=(const RankModel&) = delete;

    /// From now on ops and updates append their times there; nullptr: they do not. For devices that block.
    void record_ops(OpSpans* into);

    /// Gradients and loss to zero.
    void begin_step(int step);
    /// The ops of units [first_unit, first_unit + units) of a pass on a micro-batch; backward goes from the last to the
    /// first. Takes what arrived for the stage, and leaves what is to be sent.
    PassMemory run(const Work& work, int microbatch);

    /// Buffer for what a stage receives; `stage` is the one that consumes, as in the tasks send and receive.
    std::span<std::byte> incoming(int stage, int microbatch, Direction direction);
    /// It is there: from now on its buffer counts.
    void arrived(int stage, int microbatch, Direction direction);
    /// What waits to be sent to a stage, until sent() frees it.
    Elements outgoing(int stage, int microbatch, Direction direction);
    void sent(int stage, int microbatch, Direction direction);

    /// All parameters of a stage and their gradients, in the order in which gradients get ready (gradient_buckets.hpp).
    /// Precondition: parameters are not sharded.
    Elements parameters(int stage);
    Elements gradients(int stage);

    /// Sharded parameters (FSDP, ZeRO-3), by groups of shard_groups(job, stage). The rank keeps shard_of(elements).
    /// begin_gather gives the buffer of the whole group to gather into, which counts from end_gather on; end_use
    /// releases it.
    Elements shard(int stage, int group);
    Elements begin_gather(int stage, int group);
    void end_gather(int stage, int group);
    void end_use(int stage, int group);
    /// Takes the whole gradients of a group out of what passes add to; end_reduce frees those taken first.
    Elements detach_gradients(int stage, int group);
    /// Zeros to gather reduced gradients into, for described_parameters.
    Elements whole_gradients(int stage, int group);
    Elements gradient_shard(int stage, int group);
    void end_reduce(int stage, int group);

    Device& device();

    /// Gradient of the tied embedding's copy on this rank; empty on ranks without one.
    Elements tied_gradient();

    /// After all reductions over replicas: sums over tensor parallel ranks what each has a part of (parameters that all
    /// hold under sequence parallelism, copies of KV heads).
    void finish_gradients();
    /// Updates what the rank owns.
    void optimizer_step();
    /// Of the parameters that it updates.
    std::int64_t updated_elements() const;

    /// This rank's share of the mean loss over the global batch; 0 on ranks without the output layer, and on tensor
    /// parallel ranks but the first.
    /// Of the step that began last. Blocks.
    double loss() const;
    /// Of all steps of the graph's last run. Blocks.
    std::vector<double> losses() const;

    MemoryPool& memory();

    /// A parameter of this rank with its place in the whole tensor, for comparisons.
    struct Parameter {
        std::string name;  ///< the same in every layout, e.g. "layers.3.qkv.weight"
        int stage = 0;
        Tensor weight;
        Tensor gradient;
        std::vector<std::int64_t> global;  ///< index of every element in the whole tensor
        std::int64_t global_size = 0;
    };
    /// Precondition: parameters are not sharded, or all are gathered.
    std::vector<Parameter> described_parameters();

private:
    std::unique_ptr<RankWork> work_;
};

}  // namespace foreshard::runtime
