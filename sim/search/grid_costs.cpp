#include "sim/search/grid_costs.hpp"

#include <algorithm>
#include <map>

#include "sim/cost/durations.hpp"
#include "sim/plan/parameters.hpp"
#include "sim/plan/pass_buffers.hpp"
#include "sim/search/forms.hpp"
#include "sim/spec/data_parallel.hpp"

namespace foreshard {

namespace {

ByteCount bytes_in(const std::vector<NamedBytes>& parts) {
    ByteCount total = 0;
    for (const NamedBytes& part : parts) total += part.bytes;
    return total;
}

/// Collectives over the replicas of a grid; equal messages recur over forms and shardings.
class ReplicaComms {
public:
    struct Times {
        Picoseconds busy = 0;
        Picoseconds latency = 0;
    };
    ReplicaComms(const GroupPlacement& data, const NetworkModel& network) : data_(data), network_(network) {}

    int size() const { return data_.size; }
    const Times& time(CollectiveKind kind, double bytes) {
        const auto [place, fresh] = known_.try_emplace({kind, bytes});
        if (!fresh) return place->second;
        const CommTime time = network_.collective(kind, Bytes(bytes), data_);
        place->second = {to_picoseconds(time.busy), to_picoseconds(time.latency)};
        return place->second;
    }

private:
    GroupPlacement data_;
    const NetworkModel& network_;
    std::map<std::pair<CollectiveKind, double>, Times> known_;
};

/// Parameters of stages, and what follows from them, for one job of a form and a sharding.
class SyncTimer {
public:
    SyncTimer(const Job& job, ReplicaComms& comms, const CostModel& cost)
        : job_(job),
          comms_(comms),
          cost_(cost),
          library_(bytes_in(library_workspaces(job))),
          dense_(rank_layer_parameters(job, false)),
          experts_(job.model.moe ? rank_layer_parameters(job, true) : RankParameters{}),
          embedding_(rank_embedding_parameters(job)),
          head_(rank_head_parameters(job)),
          mtp_(job.model.mtp_layers > 0 ? mtp_block(job, op_shapes(job)).parameters : 0),
          mtp_experts_(job.model.mtp_layers > 0 ? mtp_block(job, op_shapes(job)).expert_parameters : 0) {}

    RankSync sync(const Space& space, const std::vector<int>& kinds) const;

private:
    RankParameters parameters(const StageKind& kind) const {
        RankParameters count;
        count.dense = kind.dense * dense_.dense + kind.experts * experts_.dense + kind.mtp * mtp_ +
                      (kind.embedding ? embedding_ : 0) + (kind.loss ? head_ : 0);
        count.expert = kind.experts * experts_.expert + kind.mtp * mtp_experts_;
        return count;
    }
    /// One reduction after the pipeline, one gather after the optimizer: plain DDP and ZeRO-1 (as in estimate()).
    bool plain() const {
        return job_.plan.data_parallel == DataParallelKind::ddp && !shards_gradients(job_.plan) &&
               inner_group_size(job_.plan) == comms_.size();
    }
    Picoseconds optimizer(double dense, double expert) const {
        const bool sharded = shards_optimizer(job_.plan);
        const double replicas = sharded ? shard_size(job_.plan) : 1.0;
        const double expert_replicas = sharded ? std::min(shard_size(job_.plan), expert_data_parallel(job_)) : 1.0;
        const double updated = dense / replicas + expert / expert_replicas;
        if (job_.plan.offload_optimizer) return to_picoseconds(offloaded_update(job_, updated));
        const double bytes = job_.software.numbers.optimizer_bytes_per_parameter * updated;
        return to_picoseconds(cost_.optimizer(updated, Bytes(bytes)).seconds);
    }
    Picoseconds reduction(double dense) const {
        if (comms_.size() == 1 || job_.plan.overlap_grad_reduce || !plain()) return 0;
        const CollectiveKind kind =
            shards_optimizer(job_.plan) ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
        const ReplicaComms::Times& time = comms_.time(kind, dense * reduced_gradient_bytes(job_));
        return time.busy + time.latency;
    }
    Picoseconds gathers(const Space& space, const std::vector<int>& kinds) const;

    const Job& job_;
    ReplicaComms& comms_;
    const CostModel& cost_;
    ByteCount library_;
    RankParameters dense_;
    RankParameters experts_;
    std::int64_t embedding_;
    std::int64_t head_;
    std::int64_t mtp_;
    std::int64_t mtp_experts_;
};

/// One after the other; only the last one's latency counts.
Picoseconds SyncTimer::gathers(const Space& space, const std::vector<int>& kinds) const {
    const bool gathers = comms_.size() > 1 && plain() && shards_optimizer(job_.plan) && !job_.plan.overlap_param_gather;
    if (!gathers) return 0;
    Picoseconds time = 0;
    Picoseconds latency = 0;
    for (const int kind : kinds) {
        const auto elements = static_cast<double>(parameters(space.kinds[static_cast<std::size_t>(kind)]).dense);
        const ReplicaComms::Times& gather =
            comms_.time(CollectiveKind::all_gather, elements * activation_bytes(job_.plan.precision));
        time += gather.busy;
        latency = gather.latency;
    }
    return time + latency;
}

RankSync SyncTimer::sync(const Space& space, const std::vector<int>& kinds) const {
    RankParameters all;
    for (const int kind : kinds) {
        const RankParameters one = parameters(space.kinds[static_cast<std::size_t>(kind)]);
        all.dense += one.dense;
        all.expert += one.expert;
    }
    RankSync sync;
    sync.reduce = reduction(static_cast<double>(all.dense));
    sync.update = optimizer(static_cast<double>(all.dense), static_cast<double>(all.expert)) +
                  to_picoseconds(job_.software.numbers.step_overhead);
    sync.finish = sync.update + gathers(space, kinds);
    const StateBytes states = state_bytes(job_, all.dense, all.expert);
    sync.held = states.total() + library_;
    sync.optimizer_step = states.optimizer_step;
    return sync;
}

FormSync form_sync(const Space& space, PlanKey key, ReplicaComms& comms, const CostModel& cost,
                   const NetworkModel& network) {
    FormSync result;
    const PipelineForm& form = space.forms[static_cast<std::size_t>(key.form)];
    for (std::size_t sharding = 0; sharding < space.shardings.size(); ++sharding) {
        key.sharding = static_cast<std::int16_t>(sharding);
        Job job = space.templates[static_cast<std::size_t>(key.form)][sharding];
        set_plan(space, key, job);
        const SyncTimer timer(job, comms, cost);
        for (const std::vector<int>& kinds : form.classes) result.ranks.push_back(timer.sync(space, kinds));
        result.reduces_first.push_back(comms.size() > 1 && !shards_parameters(job.plan) ? 1 : 0);
        if (sharding > 0) continue;
        result.runtime = bytes_in(runtime_parts(job));
        result.ties_embedding = ties_embedding_across_ranks(job) && form.rank.front() != form.rank.back();
        if (!result.ties_embedding) continue;
        const CommTime time = network.collective(CollectiveKind::all_reduce, Bytes(embedding_gradient_bytes(job)),
                                                 group_placement(job, Axis::embedding));
        result.embedding = to_picoseconds(time.busy) + to_picoseconds(time.latency);
    }
    return result;
}

}  // namespace

GridCosts::GridCosts(const Space& space, int cell, int grid, const CostModel& cost, const NetworkModel& network) {
    const Grid& shape = space.cells[static_cast<std::size_t>(cell)].grids[static_cast<std::size_t>(grid)];
    // Micro-batch and sequence parallelism do not matter here: any branch of the cell will do.
    const auto branch = std::find_if(space.branches.begin(), space.branches.end(),
                                     [&](const Branch& known) { return known.cell == cell; });
    if (branch == space.branches.end()) return;
    PlanKey key{static_cast<std::int32_t>(branch - space.branches.begin()), static_cast<std::int16_t>(grid),
                static_cast<std::int16_t>(shape.forms.front()), 0, 0};
    Job job = space.templates[static_cast<std::size_t>(key.form)].front();
    set_plan(space, key, job);
    groups = {group_placement(job, Axis::tp), group_placement(job, Axis::cp), group_placement(job, Axis::ep)};
    ReplicaComms comms(group_placement(job, Axis::dp), network);
    for (int r = 0; r < shape.pp; ++r) local.push_back(share_domain(job, r, (r + 1) % shape.pp) ? 1 : 0);
    forms.reserve(shape.forms.size());
    for (const int form : shape.forms) {
        key.form = static_cast<std::int16_t>(form);
        forms.push_back(form_sync(space, key, comms, cost, network));
    }
}

}  // namespace foreshard
