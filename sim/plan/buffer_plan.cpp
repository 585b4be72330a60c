#include "sim/plan/buffer_plan.hpp"

#include <algorithm>
#include <cmath>

#include "sim/plan/counted_buffers.hpp"
#include "sim/plan/counted_holdings.hpp"
#include "sim/plan/data_parallel/shard_buffers.hpp"
#include "sim/plan/op_graph.hpp"
#include "sim/plan/parameters.hpp"
#include "sim/plan/pass_buffers.hpp"

/// Sources of the constants: torch max-allocated figures of 162 vocabulary-parallel and 84 zero-bubble runs
/// (sail-sg/VocabularyParallelism, arXiv 2411.05288; sail-sg/zero-bubble-pipeline-parallelism, arXiv 2401.10241),
/// NeMo's memory pages, and the Megatron-LM, DeepSpeed and PyTorch sources named at each.
namespace foreshard {

namespace {

constexpr ByteCount kib = 1024;
constexpr ByteCount mib = 1024 * kib;
constexpr ByteCount gib = 1024 * mib;

/// cuBLAS workspace per handle: 8,519,680 bytes on Ampere (pytorch/pytorch issue 95668), 32 MiB on Hopper and later;
/// forward and autograd threads have one each.
ByteCount cublas_workspace(const std::string& architecture) {
    const bool recent = architecture == "hopper" || architecture == "blackwell";
    return 2 * (recent ? 32 * mib : 8'519'680);
}

/// Held by Megatron runs at the first backward, independent of shape; its cause is not known (one run's difference,
/// then found in 48 others).
constexpr ByteCount unattributed = 104'385'740;

/// Working set of a pass in units of s b h bytes: received and sent boundary tensors and gradients in flight
/// (two rows fitted, 48 predicted within 0.7 %).
constexpr ByteCount pass_working_units = 9;

/// What vocabulary passes add to it on every rank: the broadcast hidden state in fp32 and 16 bits, input gradients,
/// embeddings summed ahead (fitted on 24 runs); and logits of a share, as 16-bit values and fp32 softmax with masks.
constexpr ByteCount vocabulary_working_units = 21;
constexpr double share_bytes_per_logit = 6.25;

/// Outside the allocator. A context takes 0.67 GB with eager loading (pytorch/pytorch issue 86509); a communicator
/// about 0.6 GiB (NVIDIA/nccl issue 964). What the framework keeps in multi-GPU runs closes the fit of 5.5 GiB with TP,
/// DP and PP groups over 90 nvidia-smi figures (BLOOM, FlagPerf).
constexpr ByteCount context_bytes = 670'000'000;
constexpr ByteCount communicator_bytes = 6 * gib / 10;
constexpr ByteCount framework_bytes =
    static_cast<ByteCount>(5.5 * static_cast<double>(gib)) - context_bytes - 5 * communicator_bytes;

struct BytesPerParameter {
    int weight = 2;
    int gradient = 2;
    int optimizer = 12;     ///< fp32 master weight and two Adam moments
    int gradient_copy = 0;  ///< whole, whatever is sharded
};

/// Outer momentum and the parameters of the last outer step in fp32 (DiLoCo, arXiv 2311.08105).
constexpr int outer_optimizer_bytes = 8;

constexpr int moment_bytes = 8;  ///< two Adam moments in fp32

/// DDP keeps a bucket copy of every gradient (gradient_as_bucket_view is off by default; pytorch/pytorch PR 41954).
int bucket_copy_bytes(const Job& job) {
    const bool torch = job.software.structure.gradient_buckets == GradientBuckets::torch;
    const bool replicated = job.plan.data_parallel == DataParallelKind::ddp && !shards_optimizer(job.plan);
    return torch && replicated && job.plan.dp > 1 ? gradient_bytes(job) : 0;
}

/// FSDP keeps shards in fp32, whatever it gathers (16 bytes); ZeRO, and the project's own runtime, keep 16-bit weights
/// beside fp32 copies.
BytesPerParameter bytes_per_parameter(const Job& job) {
    const bool wide_shards = is_fsdp(job.plan.data_parallel) && !job.software.structure.counts_buffers;
    if (activation_bytes(job.plan.precision) == 4 || wide_shards) {
        return {4, 4, 8, bucket_copy_bytes(job)};
    }
    const ProfileStructure& structure = job.software.structure;
    const bool sixteen = job.plan.precision == Precision::fp16;
    const int copies = sixteen ? 0 : structure.gradient_copy_bytes_bf16;
    const int partition = shards_optimizer(job.plan) ? structure.gradient_partition_bytes : 0;
    return {2, gradient_bytes(job) + copies, 12 + partition, bucket_copy_bytes(job)};
}

std::int64_t share(std::int64_t parameters, int replicas) {
    return (parameters + replicas - 1) / replicas;
}

/// Versions of the weights that an asynchronous schedule stashes, the current one included.
int weight_versions(const Job& job, int rank) {
    if (job.schedule_file) return 1;
    if (job.plan.schedule == ScheduleKind::pipedream) return pipedream_versions_held(job.plan.pp, rank);
    return job.plan.schedule == ScheduleKind::pipedream_2bw ? pipedream_2bw_versions_held : 1;
}

StateBytes states_of(const Job& job, const TaskGraph& graph, std::size_t rank) {
    std::int64_t dense = 0;
    std::int64_t expert = 0;
    for (const int stage : graph.rank_stages[rank]) {
        dense += graph.stages[static_cast<std::size_t>(stage)].parameters();
        expert += graph.stages[static_cast<std::size_t>(stage)].expert_parameters();
    }
    StateBytes states = state_bytes(job, dense, expert);
    states.weights *= weight_versions(job, static_cast<int>(rank));
    return states;
}

/// s b h of the rank's share, scaled from 2-byte elements to the precision's.
ByteCount shard_units(const OpShapes& shapes) {
    return shapes.shard_tokens * shapes.hidden * shapes.element / 2;
}

/// Vocabulary turns stand between the passes of a rank, and what they share outlives each.
ByteCount vocabulary_working_set(const OpShapes& shapes) {
    const auto logits = static_cast<double>(shapes.tokens * shapes.vocab);
    return (pass_working_units + vocabulary_working_units) * shard_units(shapes) +
           static_cast<ByteCount>(share_bytes_per_logit * logits);
}

/// Logits and their gradients beyond the fp32 softmax that is counted as saved.
ByteCount loss_working_set(const Job& job, const OpShapes& shapes) {
    const double beyond = std::max(job.software.structure.logits_bytes_per_element - 4.0, 0.0);
    return static_cast<ByteCount>(beyond * static_cast<double>(shapes.tokens * shapes.vocab));
}

/// What recomputation rebuilds at a time, and the gradients of scores and of the layer while it runs.
ByteCount recompute_set(const Job& job, const OpShapes& shapes, ByteCount largest) {
    const bool unfused = job.software.structure.attention != AttentionKernel::flash;
    const ByteCount scores =
        unfused ? shapes.micro_batch * shapes.heads * shapes.seq * (shapes.tokens / shapes.micro_batch) : 0;
    if (job.plan.recompute == Recompute::none) return 0;
    if (job.plan.recompute == Recompute::selective) {
        const ByteCount kept = job.software.structure.saves_dropout_masks ? 5 : 4;
        return (kept + 4) * scores;
    }
    if (largest == 0) return 0;
    const ByteCount full = shapes.tokens * shapes.hidden * shapes.element / 2;
    return largest + 4 * scores + 4 * shard_units(shapes) + 8 * full / job.plan.tp;
}

/// Dense weight gradient of the embedding table in 16 bits, and the gradient of its output.
ByteCount embedding_gradient(const OpShapes& shapes) {
    return shapes.element * shapes.vocab * shapes.hidden + 2 * shard_units(shapes);
}

PassContents contents_of(const Job& job, const StageOps& stage, const Work& work) {
    const std::vector<Unit> units = stage_units(stage);
    PassContents contents;
    for (std::int32_t u = work.first_unit; u < work.first_unit + work.units; ++u) {
        const OpBlock& block = stage.blocks[static_cast<std::size_t>(units[static_cast<std::size_t>(u)].block)];
        contents.saved += block.saved;
        contents.until_weight_grad += kept_until_weight_grad(job, block);
        contents.largest_working_set = std::max(contents.largest_working_set, block.working_set);
        contents.embedding |= block.kind == BlockKind::embedding;
        contents.head |= block.kind == BlockKind::head;
    }
    return contents;
}

ByteCount sum(const std::vector<NamedBytes>& parts) {
    ByteCount total = 0;
    for (const NamedBytes& part : parts) total += part.bytes;
    return total;
}

}  // namespace

/// sail WeightGradStore keeps input and output gradient of every linear layer: 32 sbh a layer, M_W of arXiv 2401.10241.
/// A fully recomputed layer is rebuilt for W and keeps its input only.
ByteCount kept_until_weight_grad(const Job& job, const OpBlock& block) {
    const bool rebuilds = job.plan.recompute == Recompute::full && !job.software.structure.counts_buffers;
    return rebuilds ? block.saved : block.weight_grad_inputs();
}

PassBuffers pass_buffers(const Job& job, const OpShapes& shapes, const PassContents& contents, Pass pass) {
    PassBuffers sizes;
    const ByteCount saved = contents.saved;
    const ByteCount until_w = contents.until_weight_grad;
    if (pass == Pass::forward) sizes.acquired = saved;
    if (pass == Pass::backward) sizes.released = saved;
    if (pass == Pass::input_grad) {
        // Output gradients are new; where little else was saved, I leaves more than it found.
        sizes.acquired = std::max(until_w - saved, ByteCount{0});
        sizes.released = std::max(saved - until_w, ByteCount{0});
    }
    if (pass == Pass::weight_grad) sizes.released = until_w;
    const bool shared = vocabulary_shares(job.plan) > 1;
    sizes.transient =
        std::max(pass_working_units * shard_units(shapes), contents.head ? loss_working_set(job, shapes) : 0);
    if (shared) sizes.transient = vocabulary_working_set(shapes);
    const bool rebuilds = pass == Pass::weight_grad && job.plan.recompute == Recompute::full;
    if (pass == Pass::backward || pass == Pass::input_grad || rebuilds) {
        sizes.transient += recompute_set(job, shapes, contents.largest_working_set);
    }
    sizes.transient += job.stage_times ? 0 : unattributed;
    const bool finishes = pass == Pass::backward || pass == Pass::weight_grad;
    if (finishes && contents.embedding && !shared) sizes.tail = embedding_gradient(shapes);
    return sizes;
}

std::vector<NamedBytes> library_workspaces(const Job& job) {
    if (job.software.structure.counts_buffers) return {};
    return {{"cuBLAS workspaces", cublas_workspace(job.cluster.device.architecture)}};
}

std::vector<NamedBytes> runtime_parts(const Job& job) {
    if (job.software.structure.counts_buffers) return {};
    std::vector<NamedBytes> parts = {{"CUDA context", context_bytes}};
    if (job.gpus == 1) return parts;
    parts.push_back({"framework buffers", framework_bytes});
    parts.push_back({"communicator world", communicator_bytes});
    if (job.plan.tp > 1) parts.push_back({"communicator tp", communicator_bytes});
    if (job.plan.dp * job.plan.cp > 1) parts.push_back({"communicator dp", communicator_bytes});
    if (job.plan.pp > 1) parts.push_back({"communicator pp", communicator_bytes});
    if (ties_embedding_across_ranks(job)) parts.push_back({"communicator embedding", communicator_bytes});
    if (job.plan.ep > 1) parts.push_back({"communicator ep (all-to-all)", 33 * gib / 10});
    return parts;
}

/// Whole states are divided over ranks as the scheme says: optimizer (ZeRO-1), gradients (2), parameters (3).
StateBytes state_bytes(const Job& job, std::int64_t dense, std::int64_t expert) {
    const ParallelPlan& plan = job.plan;
    const BytesPerParameter bytes = bytes_per_parameter(job);
    const int shards = shard_size(plan);
    const std::int64_t owned = share(dense, shards) + share(expert, std::min(shards, expert_data_parallel(job)));
    const std::int64_t all = dense + expert;
    StateBytes states;
    states.weights = bytes.weight * (shards_parameters(plan) ? owned : all);
    // The project's own runtime shards gradients with the parameters only.
    const bool whole_gradients =
        !shards_gradients(plan) || (job.software.structure.counts_buffers && !shards_parameters(plan));
    states.gradients = bytes.gradient * (whole_gradients ? all : owned) + bytes.gradient_copy * all;
    states.optimizer = bytes.optimizer * (shards_optimizer(plan) ? owned : all);
    states.moments = moment_bytes * (shards_optimizer(plan) ? owned : all);
    // Megatron copies 16-bit gradients to fp32 inside the step; a kept partition is that copy already.
    const bool copies_in_step = bytes.gradient == 2 && bytes.optimizer == 12;
    states.optimizer_step = copies_in_step ? 4 * (shards_optimizer(plan) ? owned : all) : 0;
    if (plan.data_parallel == DataParallelKind::local_sgd) states.optimizer += outer_optimizer_bytes * all;
    const bool at_server = uses_parameter_server(plan) && plan.dp > 1;
    if (!plan.offload_optimizer && !at_server) return states;
    // On the host: master weights, moments, and with sharded gradients those too (DeepSpeed stage_1_and_2.py).
    states.optimizer = 0;
    states.moments = 0;
    states.optimizer_step = 0;
    if (shards_gradients(plan)) states.gradients = 0;
    if (plan.offload_parameters) states.weights = 0;
    return states;
}

ByteCount BufferPlan::workspace_bytes() const {
    return sum(workspaces);
}
ByteCount BufferPlan::runtime_bytes() const {
    return sum(runtime);
}

SplitMemory split_memory(const Job& job, const std::vector<StageOps>& stages) {
    SplitMemory most{0, 0, 0};
    for (const StageOps& stage : stages) {
        const ByteCount saved = stage.saved();
        ByteCount until_w = 0;
        for (const OpBlock& block : stage.blocks) until_w += block.repeat * kept_until_weight_grad(job, block);
        if (std::max(saved, until_w) <= most.forward) continue;
        most = {std::max(saved, until_w), std::max(saved - until_w, ByteCount{0}), until_w};
    }
    return most;
}

namespace {

/// Nothing beyond tensors: workspaces and contexts of libraries are not the plan's.
void add_counted(const Job& job, const TaskGraph& graph, BufferPlan& plan) {
    plan.works.reserve(graph.works.size());
    for (const Work& work : graph.works) {
        plan.works.push_back(work.kind == TaskKind::pass ? counted_pass(job, graph, work) : PassBuffers{});
    }
    plan.holdings = counted_shard_holdings(job, graph);
    const std::vector<Holding> messages = message_holdings(job, graph);
    plan.holdings.insert(plan.holdings.end(), messages.begin(), messages.end());
}

}  // namespace

BufferPlan plan_buffers(const Job& job, const TaskGraph& graph) {
    BufferPlan plan;
    for (std::size_t rank = 0; rank < graph.rank_stages.size(); ++rank) {
        plan.states.push_back(states_of(job, graph, rank));
    }
    plan.reserved_ratio = job.software.structure.allocator_reserved_ratio;
    if (job.software.structure.counts_buffers) {
        add_counted(job, graph, plan);
        return plan;
    }
    plan.holdings = shard_holdings(job, graph);
    const OpShapes shapes = op_shapes(job);
    plan.works.reserve(graph.works.size());
    for (const Work& work : graph.works) {
        if (work.kind != TaskKind::pass) {
            plan.works.emplace_back();
            continue;
        }
        const StageOps& stage = graph.stages[static_cast<std::size_t>(work.stage)];
        plan.works.push_back(pass_buffers(job, shapes, contents_of(job, stage, work), work.pass));
    }
    plan.workspaces = library_workspaces(job);
    for (NamedBytes& part : data_parallel_workspaces(job, graph)) plan.workspaces.push_back(std::move(part));
    plan.runtime = runtime_parts(job);
    return plan;
}

}  // namespace foreshard
