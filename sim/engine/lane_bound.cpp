#include "sim/engine/lane_bound.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/cost/durations.hpp"
#include "sim/plan/data_parallel/gradient_buckets.hpp"
#include "sim/plan/data_parallel/shard_plan.hpp"
#include "sim/plan/op_graph.hpp"
#include "sim/spec/data_parallel.hpp"

namespace foreshard {

namespace {

bool finishes_weights(Pass pass) {
    return pass == Pass::backward || pass == Pass::weight_grad || pass == Pass::vocab_backward;
}

class LaneBounds {
public:
    LaneBounds(const Job& job, const Schedule& schedule, const PipelineCosts& costs, const CostModel& cost,
               const NetworkModel& network)
        : job_(job),
          schedule_(schedule),
          costs_(costs),
          network_(network),
          replicas_(group_placement(job, Axis::dp).size),
          stages_(build_stage_ops(job, stage_layout(job))) {
        if (shards_parameters(job.plan)) find_shards(cost);
    }

    /// End of the last bucket's reduction.
    Picoseconds buckets_end(std::size_t rank, Picoseconds start) const;
    Picoseconds sharded_end(std::size_t rank, Picoseconds start);

private:
    std::size_t contents_of(const Action& action) const {
        return is_vocabulary(action.pass) ? stages_.size() - 1 : static_cast<std::size_t>(action.stage);
    }
    Picoseconds pass_time(const Action& action) const;
    Picoseconds reduce_time(double elements) const;
    CommDuration collective(CollectiveKind kind, Axis axis, double bytes) const {
        return comm_duration(job_, network_, {kind, axis, Bytes(bytes), 0, 0});
    }

    void find_shards(const CostModel& cost);
    Picoseconds shard_time(CollectiveKind kind, std::int32_t stage, std::int32_t group);
    Picoseconds item_time(const ShardPlan& plan, const ShardItem& item, const Action& action);

    const Job& job_;
    const Schedule& schedule_;
    const PipelineCosts& costs_;
    const NetworkModel& network_;
    int replicas_;
    std::vector<StageOps> stages_;
    std::vector<ShardGroups> groups_;              ///< of sharded parameters, per stage
    std::vector<std::vector<BlockTimes>> blocks_;  ///< the same
    std::map<std::tuple<CollectiveKind, std::int32_t, std::int32_t>, Picoseconds> shard_times_;
    std::map<std::tuple<std::int32_t, Pass, std::int32_t, std::int32_t>, Picoseconds> part_times_;
};

Picoseconds LaneBounds::pass_time(const Action& action) const {
    if (action.pass == Pass::vocab_forward) return costs_.vocab_forward;
    if (action.pass == Pass::vocab_backward) return costs_.vocab_backward;
    const StageCost& cost = costs_.stages[static_cast<std::size_t>(action.stage)];
    switch (action.pass) {
        case Pass::forward:
            return cost.forward;
        case Pass::backward:
            return cost.backward;
        case Pass::input_grad:
            return cost.input_grad;
        case Pass::weight_grad:
            return cost.weight_grad;
        case Pass::vocab_forward:
        case Pass::vocab_backward:
            break;
    }
    return 0;
}

/// How long one bucket holds the lane, at both levels of a two-level group. Its latency may overlap the next one.
Picoseconds LaneBounds::reduce_time(double elements) const {
    const int inner = inner_group_size(job_.plan);
    const bool scatter = shards_optimizer(job_.plan);
    const double bytes = elements * reduced_gradient_bytes(job_);
    const CollectiveKind kind = scatter ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
    if (inner == replicas_) return collective(kind, Axis::dp, bytes).busy;
    Picoseconds time = inner > 1 ? collective(kind, Axis::dp_shard, bytes).busy : 0;
    if (job_.plan.data_parallel == DataParallelKind::local_sgd) return time;
    const double outer = scatter ? bytes / inner : bytes;
    return time + collective(CollectiveKind::all_reduce, Axis::dp_replica, outer).busy;
}

Picoseconds LaneBounds::buckets_end(std::size_t rank, Picoseconds start) const {
    const std::vector<Action>& actions = schedule_.actions[rank];
    std::vector<std::size_t> last(stages_.size(), actions.size());
    for (std::size_t i = 0; i < actions.size(); ++i) {
        if (finishes_weights(actions[i].pass)) last[contents_of(actions[i])] = i;
    }
    Picoseconds compute = start;
    Picoseconds lane = 0;
    for (std::size_t i = 0; i < actions.size(); ++i) {
        const Picoseconds begin = compute;
        compute += pass_time(actions[i]);
        const std::size_t contents = contents_of(actions[i]);
        const bool reduces =
            finishes_weights(actions[i].pass) && (job_.plan.sync_every_microbatch || last[contents] == i);
        if (!reduces) continue;
        const StageBuckets buckets = bucket_stage(job_, stages_[contents], contents == 0);
        for (const StageBuckets::Reduce& reduce : buckets.reduces) {
            const bool whole = reduce.part + 1 == static_cast<std::int32_t>(buckets.parts.size());
            lane = std::max(lane, whole ? compute : begin) + reduce_time(reduce.elements);
        }
    }
    return lane;
}

void LaneBounds::find_shards(const CostModel& cost) {
    const PassTimer timer(job_, cost, network_);
    for (const StageOps& stage : stages_) {
        groups_.push_back(shard_groups(job_, stage));
        blocks_.emplace_back();
        for (const OpBlock& block : stage.blocks) blocks_.back().push_back(timer.time(block));
    }
}

/// How long a gather or a reduction holds the lane.
Picoseconds LaneBounds::shard_time(CollectiveKind kind, std::int32_t stage, std::int32_t group) {
    const auto [place, fresh] = shard_times_.try_emplace({kind, stage, group});
    if (!fresh) return place->second;
    const Axis axis = shard_size(job_.plan) == replicas_ ? Axis::dp : Axis::dp_shard;
    const bool gathers = kind == CollectiveKind::all_gather;
    const int width = gathers ? activation_bytes(job_.plan.precision) : reduced_gradient_bytes(job_);
    const double elements = groups_[static_cast<std::size_t>(stage)].groups[static_cast<std::size_t>(group)].elements;
    return place->second = collective(kind, axis, elements * width).busy;
}

/// Of a part of a pass, with what it loses to communication beside it.
Picoseconds LaneBounds::item_time(const ShardPlan& plan, const ShardItem& item, const Action& action) {
    const auto stage = static_cast<std::size_t>(action.stage);
    const auto [place, fresh] = part_times_.try_emplace({action.stage, action.pass, item.first_unit, item.units});
    if (fresh) {
        const Work work{TaskKind::pass, action.stage, action.pass, item.first_unit, item.units};
        place->second = part_of_pass(stages_[stage], blocks_[stage], work, pass_overhead(job_)).total();
    }
    Picoseconds beside = 0;
    if (item.under_gather >= 0) {
        const ShardGather& gather = plan.gathers[static_cast<std::size_t>(item.under_gather)];
        beside += shard_time(CollectiveKind::all_gather, gather.stage, gather.group);
    }
    if (item.under_reduce >= 0) {
        const ShardReduce& reduce = plan.reduces[static_cast<std::size_t>(item.under_reduce)];
        beside += shard_time(CollectiveKind::reduce_scatter, reduce.stage, reduce.group);
    }
    return place->second + lost_beside(job_, place->second, beside);
}

Picoseconds LaneBounds::sharded_end(std::size_t rank, Picoseconds start) {
    const std::vector<Action>& actions = schedule_.actions[rank];
    const bool alone = schedule_.ranks == 1;
    const ShardPlan plan =
        plan_shards(actions, groups_, {job_.plan.prefetch_layers, job_.plan.sync_every_microbatch, alone, alone});
    Picoseconds lane = 0;
    Picoseconds compute = start;
    for (const ShardGather& g : plan.gathers) lane += shard_time(CollectiveKind::all_gather, g.stage, g.group);
    for (const ShardReduce& r : plan.reduces) lane += shard_time(CollectiveKind::reduce_scatter, r.stage, r.group);
    for (const ShardItem& item : plan.items) {
        compute += item_time(plan, item, actions[static_cast<std::size_t>(item.action)]);
    }
    if (!alone) return std::max(lane, compute);
    if (!plan.gathers.empty() && plan.gathers.front().first_item == 0) {
        compute += shard_time(CollectiveKind::all_gather, plan.gathers.front().stage, plan.gathers.front().group);
    }
    const auto last_item = static_cast<std::int32_t>(plan.items.size()) - 1;
    if (!plan.reduces.empty() && plan.reduces.back().item == last_item) {
        compute += shard_time(CollectiveKind::reduce_scatter, plan.reduces.back().stage, plan.reduces.back().group);
    }
    return std::max(lane, compute);
}

}  // namespace

std::vector<Picoseconds> lane_ends(const Job& job, const Schedule& schedule, const PipelineCosts& costs,
                                   const std::vector<Picoseconds>& starts, const CostModel& cost,
                                   const NetworkModel& network) {
    const ParallelPlan& plan = job.plan;
    std::vector<Picoseconds> ends(schedule.actions.size(), 0);
    const bool by_times = plan.data_parallel == DataParallelKind::horovod || uses_parameter_server(plan);
    if (plan.dp * plan.cp <= 1 || by_times || !schedule.direction.empty()) return ends;
    const bool sharded = shards_parameters(plan);
    if (!sharded && (!plan.overlap_grad_reduce || plan.overlap_param_gather)) return ends;
    LaneBounds lanes(job, schedule, costs, cost, network);
    for (std::size_t r = 0; r < ends.size(); ++r) {
        ends[r] = sharded ? lanes.sharded_end(r, starts[r]) : lanes.buckets_end(r, starts[r]);
    }
    return ends;
}

}  // namespace foreshard
