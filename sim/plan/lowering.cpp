#include "sim/plan/lowering.hpp"

#include <algorithm>

#include "sim/plan/op_graph.hpp"
#include "sim/plan/parameters.hpp"

namespace foreshard {

void Lowering::describe() {
    graph_.ranks = schedule_.ranks;
    graph_.pipeline_ranks = schedule_.ranks;
    for (int rank = 0; rank < schedule_.ranks; ++rank) graph_.places.push_back({rank, -1});
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
    if (schedule_.vocabulary) {
        const int share = static_cast<int>(graph_.stages.size()) - 1;
        for (std::vector<int>& stages : graph_.rank_stages) stages.push_back(share);
    }
    sync_ = !job_.stage_times;
    group_ = group_placement(job_, Axis::dp);
    overlap_grad_ = job_.plan.overlap_grad_reduce && !uses_parameter_server(job_.plan);
    sharded_ = sync_ && shards_parameters(job_.plan) && group_.size > 1;
    settle_steps();
    blocking_p2p_ = sync_ && !job_.plan.overlap_p2p.value_or(job_.software.structure.overlap_p2p);
    message_ = pipeline_message(job_);
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
    last_vocabulary_backward_.assign(ranks, -1);
    for (int rank = 0; rank < schedule_.ranks; ++rank) {
        const auto& actions = schedule_.actions[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < actions.size(); ++i) {
            note_message(rank, static_cast<int>(i), actions[i]);
            if (actions[i].pass == Pass::vocab_backward) {
                last_vocabulary_backward_[static_cast<std::size_t>(rank)] = static_cast<std::int32_t>(i);
            } else if (finishes_weights(actions[i].pass)) {
                last_weight_action_[place_of(actions[i])] = static_cast<std::int32_t>(i);
            }
        }
    }
    send_task_.assign(channels_.size(), -1);
    recv_task_.assign(channels_.size(), -1);
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
               w.units == work.units && w.under[0] == work.under[0] && w.under[1] == work.under[1];
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
            known.from_rank == wanted.from_rank && known.to_rank == wanted.to_rank && known.every == wanted.every &&
            known.parts == wanted.parts && known.wait == wanted.wait) {
            return static_cast<std::int32_t>(i);
        }
    }
    graph_.comm_classes.push_back(wanted);
    return static_cast<std::int32_t>(graph_.comm_classes.size()) - 1;
}

std::int32_t Lowering::add_comm(std::span<const std::int32_t> members, std::int32_t comm_class) {
    const auto id = static_cast<std::int32_t>(graph_.comms.size());
    graph_.comms.push_back(
        {comm_class, static_cast<std::int32_t>(graph_.comm_members.size()), static_cast<std::int32_t>(members.size())});
    for (const std::int32_t member : members) {
        graph_.comm_members.push_back(member);
        graph_.tasks[static_cast<std::size_t>(member)].comm = id;
    }
    return id;
}

Work Lowering::whole_pass(const Action& action) const {
    const std::size_t contents = contents_of(action);
    // The first unit of a share is its embedding.
    const int first = is_vocabulary(action.pass) && looks_up_apart() ? 1 : 0;
    return {TaskKind::pass, static_cast<std::int32_t>(contents), action.pass, first, unit_counts_[contents] - first};
}

void Lowering::add_pass(int step, const Action& action, const Work& work) {
    const std::int32_t id = add_task(TaskKind::pass, step);
    Task& task = graph_.tasks[static_cast<std::size_t>(id)];
    task.stage = action.stage;
    task.microbatch = action.microbatch;
    task.pass = action.pass;
    task.fused_with_next = action.fused_with_next;
    task.work = work_index(work);
}

/// True for the action after which gradients of its layers can be reduced.
bool Lowering::completes_gradients(int rank, int index, const Action& action) const {
    if (is_vocabulary(action.pass)) return last_vocabulary_backward_[static_cast<std::size_t>(rank)] == index;
    return last_weight_action_[static_cast<std::size_t>(action.stage)] == index;
}

void Lowering::add_action(int rank, int step, int index) {
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const Action& action = schedule_.actions[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
    const auto first = static_cast<std::int32_t>(graph_.tasks.size());
    if (sharded_) {
        add_shard_items(rank, step, index);
    } else if (reduces_in(rank, index)) {
        add_parts(rank, step, action);
    } else if (cuts_vocabulary(action)) {
        add_vocabulary_parts(step, action);
    } else {
        add_cut_pass(step_of(step, action), action, whole_pass(action));
    }
    mine.first_part[static_cast<std::size_t>(step)].push_back(first);
    mine.last_part[static_cast<std::size_t>(step)].push_back(static_cast<std::int32_t>(graph_.tasks.size()) - 1);
}

void Lowering::add_step(int rank, int step) {
    const auto count = static_cast<int>(schedule_.actions[static_cast<std::size_t>(rank)].size());
    for (int i = 0; i < count; ++i) {
        add_lookups(rank, step, static_cast<std::size_t>(i));
        add_action(rank, step, i);
        if (graph_.asynchronous) add_update(rank, schedule_.actions[static_cast<std::size_t>(rank)][i]);
    }
    add_lookups(rank, step, static_cast<std::size_t>(count));
    if (looks_up_apart() && overlaps_gradients()) note_share_gradients(rank, step);
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

void Lowering::add_rank(int rank) {
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const auto steps = static_cast<std::size_t>(rounds_);
    mine.first_part.resize(steps);
    mine.last_part.resize(steps);
    mine.bucket_part.resize(steps);
    mine.reduces.resize(steps);
    mine.gathers.resize(steps);
    mine.items.resize(steps);
    if (sharded_) find_shards(rank);
    mine.replicas.resize(steps);
    mine.lookups.resize(steps);
    mine.lookup_grads.resize(steps);
    const std::size_t compute = graph_.streams.size();
    add_compute_stream(rank);
    add_p2p_streams(rank);
    add_data_parallel_streams(rank);
    add_vocabulary_stream(rank);
    if (!offloaded_.empty()) add_offload_streams(Stream(graph_.streams[compute]));
}

}  // namespace foreshard
