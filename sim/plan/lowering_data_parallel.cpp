#include <algorithm>
#include <cassert>

#include "sim/plan/lowering.hpp"
#include "sim/plan/op_graph.hpp"
#include "sim/plan/parameters.hpp"

/// Data parallelism of whole parameters: gradient buckets under backward, two-level groups, gathers of updated
/// parameters, and the one-process scheme of torch.nn.DataParallel.
namespace foreshard {

void Lowering::find_buckets() {
    if (!buckets_.empty()) return;
    buckets_.resize(graph_.stages.size());
    if (!overlaps_gradients() || !sync_ || sharded_) return;
    for (std::size_t s = 0; s < graph_.stages.size(); ++s) {
        buckets_[s] = bucket_stage(job_, graph_.stages[s], s == 0);
    }
}

/// Gradients leave a stage in its last backward, or in every one where they cannot be accumulated whole.
bool Lowering::reduces_in(int rank, int index) const {
    const Action& action = schedule_.actions[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
    const bool of_share = action.pass == Pass::vocab_backward && !looks_up_apart();
    const bool makes_gradients = finishes_weights(action.pass) || of_share;
    if (buckets_[contents_of(action)].reduces.empty() || !makes_gradients) return false;
    return job_.plan.sync_every_microbatch || completes_gradients(rank, index, action);
}

void Lowering::add_parts(int rank, int step, const Action& action) {
    const std::size_t contents = contents_of(action);
    const StageBuckets& buckets = buckets_[contents];
    std::vector<std::int32_t> ends;
    ends.reserve(buckets.parts.size());
    for (const StageBuckets::Part& part : buckets.parts) {
        ends.push_back(add_cut_pass(
            step, action,
            {TaskKind::pass, static_cast<std::int32_t>(contents), action.pass, part.first_unit, part.units}));
    }
    auto& parts = rank_tasks_[static_cast<std::size_t>(rank)].bucket_part[static_cast<std::size_t>(step)];
    for (const StageBuckets::Reduce& reduce : buckets.reduces) {
        parts.push_back(ends[static_cast<std::size_t>(reduce.part)]);
    }
}

/// One level: all-reduce, or reduce-scatter where the optimizer is sharded. Two levels: the same inside groups, then
/// between ranks of the same place in them; local SGD leaves the second to its outer step.
void Lowering::add_reduce(int rank, int step, int stage, double elements, Seconds wait) {
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const int inner = inner_group_size(job_.plan);
    const bool scatter = shards_optimizer(job_.plan);
    const bool local = job_.plan.data_parallel == DataParallelKind::local_sgd;
    const double bytes = elements * reduced_gradient_bytes(job_);
    const auto add = [&](CollectiveKind kind, Axis axis, double size) {
        const std::int32_t id = add_task(TaskKind::grad_reduce, step);
        graph_.tasks[static_cast<std::size_t>(id)].stage = stage;
        add_comm(id, comm_class({kind, axis, Bytes(size), 0, 0, 1, 1, wait}));
        return id;
    };
    const CollectiveKind kind = scatter ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
    if (inner == group_.size) {
        mine.reduces[static_cast<std::size_t>(step)].push_back(add(kind, Axis::dp, bytes));
        return;
    }
    if (inner > 1) mine.reduces[static_cast<std::size_t>(step)].push_back(add(kind, Axis::dp_shard, bytes));
    if (local) return;
    const std::int32_t outer = add(CollectiveKind::all_reduce, Axis::dp_replica, scatter ? bytes / inner : bytes);
    if (inner <= 1) mine.reduces[static_cast<std::size_t>(step)].push_back(outer);
}

void Lowering::add_reduce_tasks(int rank, int step) {
    if (overlaps_gradients()) {
        const auto& actions = schedule_.actions[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < actions.size(); ++i) {
            if (!reduces_in(rank, static_cast<int>(i))) continue;
            for (const auto& reduce : buckets_[contents_of(actions[i])].reduces) {
                add_reduce(rank, step, actions[i].stage, reduce.elements, reduce.wait);
            }
        }
        if (looks_up_apart()) {
            const auto elements = static_cast<double>(graph_.stages.back().parameters());
            add_reduce(rank, step, static_cast<int>(graph_.stages.size()) - 1, elements, Seconds(0.0));
        }
        return;
    }
    double elements = 0.0;
    for (const int stage : graph_.rank_stages[static_cast<std::size_t>(rank)]) {
        elements += static_cast<double>(graph_.stages[static_cast<std::size_t>(stage)].parameters());
    }
    add_reduce(rank, step, -1, elements, Seconds(0.0));
}

void Lowering::add_gather_tasks(int rank, int step) {
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const Axis axis = inner_group_size(job_.plan) == group_.size ? Axis::dp : Axis::dp_shard;
    for (const int stage : graph_.rank_stages[static_cast<std::size_t>(rank)]) {
        const std::int32_t id = add_task(TaskKind::param_gather, step);
        graph_.tasks[static_cast<std::size_t>(id)].stage = stage;
        const double bytes = static_cast<double>(graph_.stages[static_cast<std::size_t>(stage)].parameters()) *
                             activation_bytes(job_.plan.precision);
        const bool broadcasts = job_.software.structure.zero_gathers_by_broadcast;
        const int parts = broadcasts ? shard_size(job_.plan) : 1;
        add_comm(id, comm_class({CollectiveKind::all_gather, axis, Bytes(bytes), 0, 0, 1, parts}));
        mine.gathers[static_cast<std::size_t>(step)].push_back(id);
    }
}

/// Local SGD and DiLoCo: parameters (as deltas, in the precision of activations) between groups, once in
/// plan.local_steps steps; a step bears its share.
void Lowering::add_outer_step(int rank, int step) {
    double elements = 0.0;
    for (const int stage : graph_.rank_stages[static_cast<std::size_t>(rank)]) {
        elements += static_cast<double>(graph_.stages[static_cast<std::size_t>(stage)].parameters());
    }
    const std::int32_t id = add_task(TaskKind::param_gather, step);
    add_comm(id, comm_class({CollectiveKind::all_reduce,
                             Axis::dp_replica,
                             Bytes(elements * activation_bytes(job_.plan.precision)),
                             0,
                             0,
                             job_.plan.local_steps,
                             {}}));
    rank_tasks_[static_cast<std::size_t>(rank)].gathers[static_cast<std::size_t>(step)].push_back(id);
}

/// torch.nn.DataParallel (torch/nn/parallel): every forward replicates the module, gathers outputs to GPU 0, and every
/// backward adds up the replicas' gradients there. Nothing overlaps.
void Lowering::add_one_process_tasks(int rank, int step) {
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    double parameters = 0.0;
    for (const StageOps& stage : graph_.stages) parameters += static_cast<double>(stage.parameters());
    const OpShapes shapes = op_shapes(job_);
    const double outputs = 4.0 * static_cast<double>(shapes.tokens * shapes.vocab * group_.size);
    const auto add = [&](TaskKind kind, CollectiveKind collective, double bytes, int microbatch, Pass pass) {
        const std::int32_t id = add_task(kind, step);
        Task& task = graph_.tasks[static_cast<std::size_t>(id)];
        task.stage = 0;
        task.microbatch = microbatch;
        task.pass = pass;
        add_comm(id, comm_class({collective, Axis::dp, Bytes(bytes), 0, 0}));
        return id;
    };
    const int element = activation_bytes(job_.plan.precision);
    for (int m = 0; m < schedule_.microbatches; ++m) {
        mine.gathers[static_cast<std::size_t>(step)].push_back(
            add(TaskKind::param_gather, CollectiveKind::broadcast, parameters * element, m, Pass::forward));
        mine.gathers[static_cast<std::size_t>(step)].push_back(
            add(TaskKind::param_gather, CollectiveKind::all_gather, outputs, m, Pass::backward));
        mine.reduces[static_cast<std::size_t>(step)].push_back(
            add(TaskKind::grad_reduce, CollectiveKind::reduce, parameters * gradient_bytes(job_), m, Pass::backward));
    }
    mine.last_reduce.push_back(mine.reduces[static_cast<std::size_t>(step)].back());
}

void Lowering::connect_one_process(int rank, int step) {
    const RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const auto s = static_cast<std::size_t>(step);
    for (std::size_t m = 0; m < mine.reduces[s].size(); ++m) {
        // One rank alternates F and B (gradient accumulation), so micro-batch m owns actions 2m and 2m + 1.
        const std::int32_t forward = mine.first_part[s][2 * m];
        const std::int32_t backward = mine.first_part[s][2 * m + 1];
        need(forward, mine.gathers[s][2 * m]);
        need(mine.gathers[s][2 * m + 1], mine.last_part[s][2 * m]);
        need(backward, mine.gathers[s][2 * m + 1]);
        need(mine.reduces[s][m], mine.last_part[s][2 * m + 1]);
    }
    need(mine.optimizer[s], mine.last_reduce[s]);
}

/// Parameter server: pull before the first forward, push after the last backward. Their times follow from the queue.
void Lowering::add_server_tasks(int rank, int step) {
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const auto bytes = static_cast<double>(graph_.stages.front().parameters()) * gradient_bytes(job_);
    const std::int32_t pull = add_task(TaskKind::param_gather, step);
    add_comm(pull, comm_class({CollectiveKind::broadcast, Axis::dp, Bytes(bytes), 0, 0}));
    const std::int32_t push = add_task(TaskKind::grad_reduce, step);
    add_comm(push, comm_class({CollectiveKind::reduce, Axis::dp, Bytes(bytes), 0, 0}));
    mine.gathers[static_cast<std::size_t>(step)].push_back(pull);
    mine.reduces[static_cast<std::size_t>(step)].push_back(push);
    mine.last_reduce.push_back(push);
}

void Lowering::connect_server(int rank, int step) {
    const RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const auto s = static_cast<std::size_t>(step);
    need(mine.first_part[s].front(), mine.gathers[s].front());
    need(mine.reduces[s].front(), mine.last_part[s].back());
    need(mine.optimizer[s], mine.reduces[s].front());
}

void Lowering::add_embedding_stream(int rank) {
    const bool end_rank = rank == schedule_.rank_of(0, 0) || rank == schedule_.rank_of(schedule_.stages - 1, 0);
    if (!ties_embedding_across_ranks(job_) || replicated() || !end_rank) return;
    if (schedule_.rank_of(0, 0) == schedule_.rank_of(schedule_.stages - 1, 0)) return;
    begin_stream(rank, Lane::embedding, -1);
    for (int step = 0; step < graph_.steps; ++step) {
        rank_tasks_[static_cast<std::size_t>(rank)].embedding.push_back(add_task(TaskKind::embedding_reduce, step));
    }
}

void Lowering::add_data_parallel_streams(int rank) {
    if (!sync_ || graph_.asynchronous) return;
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const DataParallelKind kind = job_.plan.data_parallel;
    if (sharded_) {
        add_shard_streams(rank);
    } else if (group_.size > 1 || replicated()) {
        begin_stream(rank, Lane::dp, -1);
        for (int step = 0; step < graph_.steps; ++step) {
            add_replica_reduces(rank, step);
            if (group_.size == 1) continue;
            if (kind == DataParallelKind::dp) {
                add_one_process_tasks(rank, step);
                continue;
            }
            if (uses_parameter_server(job_.plan)) {
                add_server_tasks(rank, step);
                continue;
            }
            add_reduce_tasks(rank, step);
            const bool any = !mine.reduces[static_cast<std::size_t>(step)].empty();
            mine.last_reduce.push_back(any ? static_cast<std::int32_t>(graph_.tasks.size()) - 1 : -1);
            if (shards_optimizer(job_.plan)) add_gather_tasks(rank, step);
            if (kind == DataParallelKind::local_sgd) add_outer_step(rank, step);
        }
    }
    add_embedding_stream(rank);
}

void Lowering::connect_reduces(int rank, int step) {
    const RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const auto s = static_cast<std::size_t>(step);
    if (job_.plan.data_parallel == DataParallelKind::dp && group_.size > 1) {
        connect_one_process(rank, step);
        return;
    }
    if (uses_parameter_server(job_.plan) && group_.size > 1) {
        connect_server(rank, step);
        return;
    }
    if (mine.reduces[s].empty()) return;
    if (overlaps_gradients()) {
        assert(mine.reduces[s].size() == mine.bucket_part[s].size());
        for (std::size_t i = 0; i < mine.reduces[s].size(); ++i) need(mine.reduces[s][i], mine.bucket_part[s][i]);
    } else if (!mine.last_part[s].empty()) {
        // Gradients of lookups stand behind the last action.
        need(mine.reduces[s].front(), looks_up_apart() ? mine.optimizer[s] - 1 : mine.last_part[s].back());
    }
    need(mine.optimizer[s], mine.last_reduce[s]);
}

void Lowering::connect_gathers(int rank, int step) {
    const RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const auto s = static_cast<std::size_t>(step);
    if (mine.gathers[s].empty() || job_.plan.data_parallel == DataParallelKind::dp) return;
    if (uses_parameter_server(job_.plan)) return;
    for (const std::int32_t gather : mine.gathers[s]) need(gather, mine.optimizer[s]);
    if (!job_.plan.overlap_param_gather) {
        need(mine.step_end[s], mine.gathers[s].back());
        return;
    }
    if (step + 1 == graph_.steps) return;
    // Overlapped: a stage's parameters are needed by its first forward of the next step.
    const auto& actions = schedule_.actions[static_cast<std::size_t>(rank)];
    const std::vector<int>& stages = graph_.rank_stages[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < stages.size(); ++i) {
        if (looks_up_apart() && stages[i] + 1 == static_cast<int>(graph_.stages.size())) {
            const std::vector<std::int32_t>& lookups = mine.lookups[s + 1];
            need(*std::min_element(lookups.begin(), lookups.end()), mine.gathers[s][i]);
            continue;
        }
        const auto first = std::find_if(actions.begin(), actions.end(), [&](const Action& a) {
            const bool reads = a.pass == Pass::forward || a.pass == Pass::vocab_forward;
            return reads && contents_of(a) == static_cast<std::size_t>(stages[i]);
        });
        if (first == actions.end()) continue;
        need(start_of(rank, step + 1, static_cast<std::int32_t>(first - actions.begin())), mine.gathers[s][i]);
    }
}

}  // namespace foreshard
