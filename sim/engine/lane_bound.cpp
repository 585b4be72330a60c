#include "sim/engine/lane_bound.hpp"

#include <algorithm>

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
    LaneBounds(const Job& job, const Schedule& schedule, const PipelineCosts& costs, const NetworkModel& network)
        : job_(job),
          schedule_(schedule),
          costs_(costs),
          network_(network),
          replicas_(group_placement(job, Axis::dp).size),
          stages_(build_stage_ops(job, stage_layout(job))) {}

    /// End of the last bucket's reduction.
    Picoseconds buckets_end(std::size_t rank, Picoseconds start) const;
    void add_sharded(std::size_t rank, LaneBound& bound) const;

private:
    std::size_t contents_of(const Action& action) const {
        return is_vocabulary(action.pass) ? stages_.size() - 1 : static_cast<std::size_t>(action.stage);
    }
    Picoseconds pass_time(const Action& action) const;
    Picoseconds reduce_time(double elements) const;
    CommDuration collective(CollectiveKind kind, Axis axis, double bytes) const {
        return comm_duration(job_, network_, {kind, axis, Bytes(bytes), 0, 0});
    }

    const Job& job_;
    const Schedule& schedule_;
    const PipelineCosts& costs_;
    const NetworkModel& network_;
    int replicas_;
    std::vector<StageOps> stages_;
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

void LaneBounds::add_sharded(std::size_t rank, LaneBound& bound) const {
    std::vector<ShardGroups> groups;
    groups.reserve(stages_.size());
    for (const StageOps& stage : stages_) groups.push_back(shard_groups(job_, stage));
    const bool alone = schedule_.ranks == 1;
    const ShardPlan plan = plan_shards(schedule_.actions[rank], groups,
                                       {job_.plan.prefetch_layers, job_.plan.sync_every_microbatch, alone, alone});
    const Axis axis = shard_size(job_.plan) == replicas_ ? Axis::dp : Axis::dp_shard;
    const auto elements = [&](std::int32_t stage, std::int32_t group) {
        return groups[static_cast<std::size_t>(stage)].groups[static_cast<std::size_t>(group)].elements;
    };
    const auto gather = [&](const ShardGather& g) {
        return collective(CollectiveKind::all_gather, axis,
                          elements(g.stage, g.group) * activation_bytes(job_.plan.precision));
    };
    const auto reduce = [&](const ShardReduce& r) {
        return collective(CollectiveKind::reduce_scatter, axis,
                          elements(r.stage, r.group) * reduced_gradient_bytes(job_));
    };
    for (const ShardGather& g : plan.gathers) bound.ends[rank] += gather(g).busy;
    for (const ShardReduce& r : plan.reduces) bound.ends[rank] += reduce(r).busy;
    if (!alone) return;
    const bool first = !plan.gathers.empty() && plan.gathers.front().first_item == 0;
    if (first) bound.before[rank] = gather(plan.gathers.front()).busy;
    const auto last_item = static_cast<std::int32_t>(plan.items.size()) - 1;
    const bool last = !plan.reduces.empty() && plan.reduces.back().item == last_item;
    if (last) bound.after[rank] = reduce(plan.reduces.back()).busy;
}

}  // namespace

LaneBound lane_bound(const Job& job, const Schedule& schedule, const PipelineCosts& costs,
                     const std::vector<Picoseconds>& starts, const NetworkModel& network) {
    const ParallelPlan& plan = job.plan;
    const std::vector<Picoseconds> none(schedule.actions.size(), 0);
    LaneBound bound{none, none, none};
    const bool by_times = plan.data_parallel == DataParallelKind::horovod || uses_parameter_server(plan);
    if (plan.dp * plan.cp <= 1 || by_times || !schedule.direction.empty()) return bound;
    const bool sharded = shards_parameters(plan);
    if (!sharded && (!plan.overlap_grad_reduce || plan.overlap_param_gather)) return bound;
    const LaneBounds lanes(job, schedule, costs, network);
    for (std::size_t r = 0; r < none.size(); ++r) {
        if (sharded) {
            lanes.add_sharded(r, bound);
        } else {
            bound.ends[r] = lanes.buckets_end(r, starts[r]);
        }
    }
    return bound;
}

}  // namespace foreshard
