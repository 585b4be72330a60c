#include "sim/plan/lowering.hpp"

#include <algorithm>

#include "sim/plan/op_graph.hpp"
#include "sim/plan/parameters.hpp"

namespace foreshard {

namespace {

/// Megatron-LM's default bucket: 40 million parameters (distributed_data_parallel_config.py, bucket_size).
constexpr double default_bucket_elements = 40e6;

}  // namespace

Bytes boundary_message(const Job& job) {
    const OpShapes shapes = op_shapes(job);
    const bool scattered = job.plan.sequence_parallel || job.software.structure.scatter_gather_p2p;
    const double full = static_cast<double>(shapes.element) * static_cast<double>(shapes.tokens * shapes.hidden);
    return Bytes(scattered ? full / job.plan.tp : full);
}

void Lowering::describe() {
    graph_.ranks = schedule_.ranks;
    graph_.ranks_represented = std::max(job_.gpus / std::max(schedule_.ranks, 1), 1);
    graph_.layout = stage_layout(job_);
    graph_.stages = build_stage_ops(job_, graph_.layout);
    for (const StageOps& stage : graph_.stages) {
        unit_counts_.push_back(static_cast<std::int32_t>(stage_units(stage).size()));
    }
    graph_.rank_stages.resize(static_cast<std::size_t>(schedule_.ranks));
    for (std::size_t i = 0; i < schedule_.stage_rank.size(); ++i) {
        auto& stages = graph_.rank_stages[static_cast<std::size_t>(schedule_.stage_rank[i])];
        const int stage = static_cast<int>(i) % schedule_.stages;
        if (std::find(stages.begin(), stages.end(), stage) == stages.end()) stages.push_back(stage);
    }
    sync_ = !job_.stage_times;
    group_ = group_placement(job_, Axis::dp);
    overlap_grad_ = job_.plan.overlap_grad_reduce;
    settle_steps();
    blocking_p2p_ = sync_ && !job_.plan.overlap_p2p.value_or(job_.software.structure.overlap_p2p);
    message_ = boundary_message(job_);
}

Channel& Lowering::channel(int from, int to, bool forward) {
    for (const std::int32_t c : out_channel_[static_cast<std::size_t>(from)]) {
        Channel& known = channels_[static_cast<std::size_t>(c)];
        if (known.to == to && known.forward == forward) return known;
    }
    const auto id = static_cast<std::int32_t>(channels_.size());
    out_channel_[static_cast<std::size_t>(from)].push_back(id);
    in_channel_[static_cast<std::size_t>(to)].push_back(id);
    channels_.push_back({from, to, forward, {}, {}});
    return channels_.back();
}

void Lowering::note_message(int rank, int index, const Action& action) {
    const bool forward = action.pass == Pass::forward;
    if (!forward && !releases_gradient(action.pass)) return;
    const int next = forward ? action.stage + 1 : action.stage - 1;
    if (next < 0 || next >= schedule_.stages) return;
    const int to = schedule_.rank_of(next, action.microbatch);
    if (to == rank) return;
    Channel& link = channel(rank, to, forward);
    link.producers.push_back(index);
    link.consumers.push_back({next, action.microbatch, action.pass, false});
}

void Lowering::find_channels() {
    const auto ranks = static_cast<std::size_t>(schedule_.ranks);
    out_channel_.resize(ranks);
    in_channel_.resize(ranks);
    last_weight_action_.assign(schedule_.stage_rank.size(), -1);
    for (int rank = 0; rank < schedule_.ranks; ++rank) {
        const auto& actions = schedule_.actions[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < actions.size(); ++i) {
            note_message(rank, static_cast<int>(i), actions[i]);
            if (finishes_weights(actions[i].pass)) {
                last_weight_action_[place_of(actions[i])] = static_cast<std::int32_t>(i);
            }
        }
    }
    send_task_.assign(channels_.size(), -1);
    recv_task_.assign(channels_.size(), -1);
}

void Lowering::find_buckets() {
    buckets_.resize(graph_.stages.size());
    if (!overlaps_gradients() || !sync_) return;
    const double limit =
        job_.plan.bucket_mb > 0 ? job_.plan.bucket_mb * 1e6 / gradient_bytes(job_) : default_bucket_elements;
    for (std::size_t s = 0; s < graph_.stages.size(); ++s) {
        const std::vector<Unit> units = stage_units(graph_.stages[s]);
        Bucket open{static_cast<std::int32_t>(units.size()), 0, 0.0};
        for (auto u = static_cast<std::int32_t>(units.size()) - 1; u >= 0; --u) {
            const OpBlock& block =
                graph_.stages[s].blocks[static_cast<std::size_t>(units[static_cast<std::size_t>(u)].block)];
            open.first_unit = u;
            ++open.units;
            open.elements += static_cast<double>(block.parameters);
            if (open.elements < limit && u > 0) continue;
            buckets_[s].push_back(open);
            open = {u, 0, 0.0};
        }
    }
}

std::int32_t Lowering::begin_stream(int rank, Lane lane, int peer) {
    const auto at = static_cast<std::int32_t>(graph_.tasks.size());
    graph_.streams.push_back({rank, peer, lane, at, at});
    return static_cast<std::int32_t>(graph_.streams.size()) - 1;
}

std::int32_t Lowering::add_task(TaskKind kind, int step) {
    Task task;
    task.stream = static_cast<std::int32_t>(graph_.streams.size()) - 1;
    task.kind = kind;
    task.step = static_cast<std::uint16_t>(step);
    graph_.tasks.push_back(task);
    graph_.streams.back().last = static_cast<std::int32_t>(graph_.tasks.size());
    return graph_.streams.back().last - 1;
}

std::int32_t Lowering::work_index(const Work& work) {
    const auto same = [&](const Work& w) {
        return w.kind == work.kind && w.stage == work.stage && w.pass == work.pass && w.first_unit == work.first_unit &&
               w.units == work.units;
    };
    // A rank's works stand near the end of the list; ranks do not share works.
    const auto found = std::find_if(graph_.works.rbegin(), graph_.works.rend(), same);
    if (found != graph_.works.rend()) return static_cast<std::int32_t>(graph_.works.rend() - found) - 1;
    graph_.works.push_back(work);
    return static_cast<std::int32_t>(graph_.works.size()) - 1;
}

std::int32_t Lowering::comm_class(const CommClass& wanted) {
    for (std::size_t i = graph_.comm_classes.size(); i-- > 0;) {
        const CommClass& known = graph_.comm_classes[i];
        if (known.kind == wanted.kind && known.axis == wanted.axis && known.message == wanted.message &&
            known.from_rank == wanted.from_rank && known.to_rank == wanted.to_rank) {
            return static_cast<std::int32_t>(i);
        }
    }
    graph_.comm_classes.push_back(wanted);
    return static_cast<std::int32_t>(graph_.comm_classes.size()) - 1;
}

std::int32_t Lowering::add_comm(std::int32_t task, std::int32_t comm_class) {
    Comm comm;
    comm.comm_class = comm_class;
    comm.members[0] = task;
    graph_.comms.push_back(comm);
    graph_.tasks[static_cast<std::size_t>(task)].comm = static_cast<std::int32_t>(graph_.comms.size()) - 1;
    return static_cast<std::int32_t>(graph_.comms.size()) - 1;
}

void Lowering::add_pass(int step, const Action& action, const Bucket* bucket) {
    Work work{TaskKind::pass, action.stage, action.pass, 0, unit_counts_[static_cast<std::size_t>(action.stage)]};
    if (bucket != nullptr) {
        work.first_unit = bucket->first_unit;
        work.units = bucket->units;
    }
    const std::int32_t id = add_task(TaskKind::pass, step);
    Task& task = graph_.tasks[static_cast<std::size_t>(id)];
    task.stage = action.stage;
    task.microbatch = action.microbatch;
    task.pass = action.pass;
    task.fused_with_next = action.fused_with_next;
    task.work = work_index(work);
}

void Lowering::add_action(int rank, int step, int index) {
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const Action& action = schedule_.actions[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
    const auto stage = static_cast<std::size_t>(action.stage);
    const auto first = static_cast<std::int32_t>(graph_.tasks.size());
    const bool cut = last_weight_action_[place_of(action)] == index && !buckets_[stage].empty();
    if (cut) {
        for (const Bucket& bucket : buckets_[stage]) {
            add_pass(step, action, &bucket);
            mine.bucket_part[static_cast<std::size_t>(step)].push_back(static_cast<std::int32_t>(graph_.tasks.size()) -
                                                                       1);
        }
    } else {
        add_pass(step_of(step, action), action, nullptr);
    }
    mine.first_part[static_cast<std::size_t>(step)].push_back(first);
    mine.last_part[static_cast<std::size_t>(step)].push_back(static_cast<std::int32_t>(graph_.tasks.size()) - 1);
}

void Lowering::add_step(int rank, int step) {
    const auto count = static_cast<int>(schedule_.actions[static_cast<std::size_t>(rank)].size());
    for (int i = 0; i < count; ++i) {
        add_action(rank, step, i);
        if (graph_.asynchronous) add_update(rank, schedule_.actions[static_cast<std::size_t>(rank)][i]);
    }
    if (!graph_.asynchronous) add_step_end(rank, step);
}

void Lowering::add_update(int rank, const Action& action) {
    if (!sync_ || !ends_update(action)) return;
    const int step = step_of(0, action);
    const std::int32_t optimizer = add_task(TaskKind::optimizer, step);
    graph_.tasks[static_cast<std::size_t>(optimizer)].work =
        work_index({TaskKind::optimizer, rank, Pass::forward, 0, 0});
    if ((action.microbatch + 1) % graph_.microbatches != 0) return;
    const std::int32_t end = add_task(TaskKind::step_end, step);
    graph_.tasks[static_cast<std::size_t>(end)].work = work_index({TaskKind::step_end, rank, Pass::forward, 0, 0});
}

void Lowering::add_step_end(int rank, int step) {
    if (!sync_) return;
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const std::int32_t optimizer = add_task(TaskKind::optimizer, step);
    graph_.tasks[static_cast<std::size_t>(optimizer)].work =
        work_index({TaskKind::optimizer, rank, Pass::forward, 0, 0});
    mine.optimizer.push_back(optimizer);
    const std::int32_t end = add_task(TaskKind::step_end, step);
    graph_.tasks[static_cast<std::size_t>(end)].work = work_index({TaskKind::step_end, rank, Pass::forward, 0, 0});
    mine.step_end.push_back(end);
}

void Lowering::add_compute_stream(int rank) {
    begin_stream(rank, Lane::compute, -1);
    for (int round = 0; round < rounds_; ++round) add_step(rank, round);
}

void Lowering::add_p2p_stream(int rank, std::size_t index, bool send) {
    const Channel& link = channels_[index];
    const Lane lane = send ? (link.forward ? Lane::send_forward : Lane::send_backward)
                           : (link.forward ? Lane::recv_forward : Lane::recv_backward);
    begin_stream(rank, lane, send ? link.to : link.from);
    (send ? send_task_ : recv_task_)[index] = static_cast<std::int32_t>(graph_.tasks.size());
    for (int round = 0; round < rounds_; ++round) {
        for (const Action& consumer : link.consumers) {
            const std::int32_t id = add_task(send ? TaskKind::send : TaskKind::recv, step_of(round, consumer));
            Task& task = graph_.tasks[static_cast<std::size_t>(id)];
            task.stage = consumer.stage;
            task.microbatch = consumer.microbatch;
            task.pass = consumer.pass;
        }
    }
}

void Lowering::add_p2p_streams(int rank) {
    for (const std::int32_t c : out_channel_[static_cast<std::size_t>(rank)]) {
        add_p2p_stream(rank, static_cast<std::size_t>(c), true);
    }
    for (const std::int32_t c : in_channel_[static_cast<std::size_t>(rank)]) {
        add_p2p_stream(rank, static_cast<std::size_t>(c), false);
    }
}

void Lowering::add_reduce_tasks(int rank, int step) {
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const CollectiveKind kind =
        shards_optimizer(job_.plan) ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
    const auto add = [&](double elements, int stage) {
        const std::int32_t id = add_task(TaskKind::grad_reduce, step);
        graph_.tasks[static_cast<std::size_t>(id)].stage = stage;
        add_comm(id, comm_class({kind, Axis::dp, Bytes(elements * gradient_bytes(job_)), 0, 0}));
        mine.reduces[static_cast<std::size_t>(step)].push_back(id);
    };
    if (overlaps_gradients()) {
        const auto& actions = schedule_.actions[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < actions.size(); ++i) {
            const auto stage = static_cast<std::size_t>(actions[i].stage);
            if (last_weight_action_[stage] != static_cast<std::int32_t>(i)) continue;
            for (const Bucket& bucket : buckets_[stage]) add(bucket.elements, actions[i].stage);
        }
        return;
    }
    double elements = 0.0;
    for (const int stage : graph_.rank_stages[static_cast<std::size_t>(rank)]) {
        elements += static_cast<double>(graph_.stages[static_cast<std::size_t>(stage)].parameters());
    }
    add(elements, -1);
}

void Lowering::add_gather_tasks(int rank, int step) {
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    for (const int stage : graph_.rank_stages[static_cast<std::size_t>(rank)]) {
        const std::int32_t id = add_task(TaskKind::param_gather, step);
        graph_.tasks[static_cast<std::size_t>(id)].stage = stage;
        const double bytes = static_cast<double>(graph_.stages[static_cast<std::size_t>(stage)].parameters()) *
                             activation_bytes(job_.plan.precision);
        add_comm(id, comm_class({CollectiveKind::all_gather, Axis::dp, Bytes(bytes), 0, 0}));
        mine.gathers[static_cast<std::size_t>(step)].push_back(id);
    }
}

void Lowering::add_data_parallel_streams(int rank) {
    if (!sync_ || graph_.asynchronous) return;
    if (group_.size > 1 || replicated()) {
        begin_stream(rank, Lane::dp, -1);
        for (int step = 0; step < graph_.steps; ++step) {
            add_replica_reduces(rank, step);
            if (group_.size == 1) continue;
            add_reduce_tasks(rank, step);
            if (shards_optimizer(job_.plan)) add_gather_tasks(rank, step);
        }
    }
    const bool end_rank = rank == schedule_.rank_of(0, 0) || rank == schedule_.rank_of(schedule_.stages - 1, 0);
    if (!ties_embedding_across_ranks(job_) || replicated() || !end_rank) return;
    if (schedule_.rank_of(0, 0) == schedule_.rank_of(schedule_.stages - 1, 0)) return;
    begin_stream(rank, Lane::embedding, -1);
    for (int step = 0; step < graph_.steps; ++step) {
        rank_tasks_[static_cast<std::size_t>(rank)].embedding.push_back(add_task(TaskKind::embedding_reduce, step));
    }
}

void Lowering::add_rank(int rank) {
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const auto steps = static_cast<std::size_t>(rounds_);
    mine.first_part.resize(steps);
    mine.last_part.resize(steps);
    mine.bucket_part.resize(steps);
    mine.reduces.resize(steps);
    mine.gathers.resize(steps);
    mine.replicas.resize(steps);
    add_compute_stream(rank);
    add_p2p_streams(rank);
    add_data_parallel_streams(rank);
}

}  // namespace foreshard
