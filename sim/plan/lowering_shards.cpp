#include "sim/plan/lowering.hpp"

/// FSDP and ZeRO-3: tasks of a ShardPlan. One communicator carries gathers and reductions in issue order: FSDP1 uses
/// one process group for both, and FSDP2's two streams meet in one NCCL communicator, which runs them one by one.
/// Second-level all-reduces (HSDP) have a communicator, and a lane, of their own.
namespace foreshard {

double Lowering::shard_elements(std::int32_t stage, std::int32_t group) const {
    return shard_groups_[static_cast<std::size_t>(stage)].groups[static_cast<std::size_t>(group)].elements;
}

std::int32_t Lowering::gather_class(const ShardGather& gather) {
    const Axis axis = shard_size(job_.plan) == group_.size ? Axis::dp : Axis::dp_shard;
    const double bytes = shard_elements(gather.stage, gather.group) * activation_bytes(job_.plan.precision);
    return comm_class({CollectiveKind::all_gather, axis, Bytes(bytes), 0, 0});
}

std::int32_t Lowering::reduce_class(const ShardReduce& reduce) {
    const Axis axis = shard_size(job_.plan) == group_.size ? Axis::dp : Axis::dp_shard;
    const double bytes = shard_elements(reduce.stage, reduce.group) * reduced_gradient_bytes(job_);
    return comm_class({CollectiveKind::reduce_scatter, axis, Bytes(bytes), 0, 0});
}

void Lowering::find_shards(int rank) {
    if (shard_groups_.empty()) {
        for (const StageOps& stage : graph_.stages) shard_groups_.push_back(shard_groups(job_, stage));
    }
    ShardOptions options;
    options.prefetch = job_.plan.prefetch_layers;
    options.every_microbatch = job_.plan.sync_every_microbatch;
    options.frees_in_backward = schedule_.ranks == 1;
    options.drains = schedule_.ranks == 1;
    shards_.push_back(plan_shards(schedule_.actions[static_cast<std::size_t>(rank)], shard_groups_, options));
}

void Lowering::add_shard_items(int rank, int step, int index) {
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const ShardPlan& plan = shards_[static_cast<std::size_t>(rank)];
    const Action& action = schedule_.actions[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
    std::vector<std::int32_t>& items = mine.items[static_cast<std::size_t>(step)];
    for (std::size_t i = items.size(); i < plan.items.size() && plan.items[i].action == index; ++i) {
        const ShardItem& item = plan.items[i];
        Work work{TaskKind::pass, action.stage, action.pass, item.first_unit, item.units, {-1, -1}};
        if (item.under_gather >= 0) {
            work.under[0] = gather_class(plan.gathers[static_cast<std::size_t>(item.under_gather)]);
        }
        if (item.under_reduce >= 0) {
            work.under[1] = reduce_class(plan.reduces[static_cast<std::size_t>(item.under_reduce)]);
        }
        add_pass(step, action, work);
        items.push_back(static_cast<std::int32_t>(graph_.tasks.size()) - 1);
    }
}

/// Without times in the graph nothing is known of durations: comms are in the order in which the host issues them.
void Lowering::add_shard_streams(int rank) {
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const ShardPlan& plan = shards_[static_cast<std::size_t>(rank)];
    const auto& actions = schedule_.actions[static_cast<std::size_t>(rank)];
    const auto add = [&](TaskKind kind, int step, std::int32_t item, std::int32_t known_class) {
        const Action& action = actions[static_cast<std::size_t>(plan.items[static_cast<std::size_t>(item)].action)];
        const std::int32_t id = add_task(kind, step);
        Task& task = graph_.tasks[static_cast<std::size_t>(id)];
        task.stage = action.stage;
        task.microbatch = action.microbatch;
        task.pass = action.pass;
        add_comm(id, known_class);
        return id;
    };
    begin_stream(rank, Lane::dp, -1);
    for (int step = 0; step < graph_.steps; ++step) {
        const auto s = static_cast<std::size_t>(step);
        mine.gathers[s].resize(plan.gathers.size());
        mine.reduces[s].resize(plan.reduces.size());
        for (const ShardLaneEntry& entry : plan.lane) {
            const auto i = static_cast<std::size_t>(entry.index);
            if (entry.reduce) {
                const ShardReduce& reduce = plan.reduces[i];
                mine.reduces[s][i] = add(TaskKind::grad_reduce, step, reduce.item, reduce_class(reduce));
            } else {
                const ShardGather& gather = plan.gathers[i];
                mine.gathers[s][i] = add(TaskKind::param_gather, step, gather.first_item, gather_class(gather));
            }
        }
    }
    mine.outer = mine.reduces;
    if (shard_size(job_.plan) == group_.size) return;
    begin_stream(rank, Lane::dp_replica, -1);
    for (int step = 0; step < graph_.steps; ++step) {
        for (std::size_t i = 0; i < plan.reduces.size(); ++i) {
            const ShardReduce& reduce = plan.reduces[i];
            const double bytes = shard_elements(reduce.stage, reduce.group) * reduced_gradient_bytes(job_);
            const std::int32_t known =
                comm_class({CollectiveKind::all_reduce, Axis::dp_replica, Bytes(bytes / shard_size(job_.plan)), 0, 0});
            mine.outer[static_cast<std::size_t>(step)][i] = add(TaskKind::grad_reduce, step, reduce.item, known);
        }
    }
}

void Lowering::connect_shards(int rank, int step) {
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const ShardPlan& plan = shards_[static_cast<std::size_t>(rank)];
    const auto s = static_cast<std::size_t>(step);
    const auto item = [&](std::int32_t index) { return mine.items[s][static_cast<std::size_t>(index)]; };
    for (std::size_t k = 0; k < plan.gathers.size(); ++k) {
        const ShardGather& gather = plan.gathers[k];
        if (gather.after_item >= 0) need(mine.gathers[s][k], item(gather.after_item));
        need(item(gather.first_item), mine.gathers[s][k]);
        graph_.gathered.push_back({mine.gathers[s][k], item(gather.first_item), item(gather.last_item),
                                   shard_elements(gather.stage, gather.group)});
    }
    for (std::size_t k = 0; k < plan.reduces.size(); ++k) {
        const ShardReduce& reduce = plan.reduces[k];
        need(mine.reduces[s][k], item(reduce.item));
        if (mine.outer[s][k] != mine.reduces[s][k]) need(mine.outer[s][k], mine.reduces[s][k]);
        graph_.reduced.push_back({item(reduce.item), mine.reduces[s][k], shard_elements(reduce.stage, reduce.group)});
    }
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        const std::int32_t reduce = plan.items[i].after_reduce;
        if (reduce >= 0) need(mine.items[s][i], mine.outer[s][static_cast<std::size_t>(reduce)]);
    }
    if (!plan.reduces.empty()) {
        mine.last_reduce.push_back(mine.outer[s].back());
        need(mine.optimizer[s], mine.outer[s].back());
    }
}

}  // namespace foreshard
