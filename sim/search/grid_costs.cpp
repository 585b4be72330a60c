#include "sim/search/grid_costs.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "sim/cost/durations.hpp"
#include "sim/engine/stoppable.hpp"
#include "sim/plan/parameters.hpp"
#include "sim/plan/pass_buffers.hpp"
#include "sim/search/forms.hpp"
#include "sim/search/parallel.hpp"
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
    bool reduces_first() const { return comms_.size() > 1 && !shards_parameters(job_.plan); }

private:
    RankParameters parameters(const StageKind& kind) const {
        RankParameters count;
        count.dense = kind.dense * dense_.dense + kind.experts * experts_.dense + kind.mtp * mtp_ +
                      (kind.embedding ? embedding_ : 0) + (kind.loss ? head_ : 0);
        count.expert = kind.experts * experts_.expert + kind.mtp * mtp_experts_;
        return count;
    }
    /// One reduction after the pipeline, one gather after the optimizer: plain DDP, ZeRO-1 and 2 (as in estimate()).
    bool plain() const {
        return job_.plan.data_parallel == DataParallelKind::ddp && !shards_parameters(job_.plan) &&
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
    void add_lane(const StageKind& kind, RankSync& sync) const;
    ByteCount gathered(const Space& space, const std::vector<int>& kinds) const;
    void add_group(std::int64_t elements, int count, bool kept, RankSync& sync) const;

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
        if (!job_.software.structure.zero_gathers_by_broadcast) continue;
        // Less one for the rounding of a sum.
        const Seconds starts = job_.software.numbers.broadcast_latency * shard_size(job_.plan);
        time += std::max(to_picoseconds(starts) - 1, Picoseconds{0});
    }
    return time + latency;
}

/// Groups of sharded parameters, at least as often as plan_shards() moves them.
void SyncTimer::add_group(std::int64_t elements, int count, bool kept, RankSync& sync) const {
    if (elements == 0 || count == 0) return;
    const auto size = static_cast<double>(elements);
    const Picoseconds gather =
        count * comms_.time(CollectiveKind::all_gather, size * activation_bytes(job_.plan.precision)).busy;
    const Picoseconds reduce =
        count * comms_.time(CollectiveKind::reduce_scatter, size * reduced_gradient_bytes(job_)).busy;
    // A kept group stays until the backward; with a pipeline until the last one.
    if (!kept) {
        sync.lane_each += 2 * gather;
    } else if (job_.plan.pp == 1) {
        sync.lane_each += gather;
    } else {
        sync.lane_once += gather;
    }
    (job_.plan.sync_every_microbatch ? sync.lane_each : sync.lane_once) += reduce;
}

/// Of one stage, as shard_groups() groups it. DeepSpeed keeps what is used again soon: here all of it is.
void SyncTimer::add_lane(const StageKind& kind, RankSync& sync) const {
    if (!shards_parameters(job_.plan) || comms_.size() == 1 || shard_size(job_.plan) != comms_.size()) return;
    const bool kept = !is_fsdp(job_.plan.data_parallel) || !job_.plan.reshard_after_forward;
    const bool tied_here = job_.model.tied_embeddings && job_.plan.pp == 1;
    const bool one_root = job_.plan.data_parallel == DataParallelKind::fsdp1 || tied_here;
    add_group(dense_.dense + dense_.expert, kind.dense, kept, sync);
    add_group(experts_.dense + experts_.expert, kind.experts, kept, sync);
    add_group(mtp_ + mtp_experts_, kind.mtp, kept, sync);
    if (one_root) {
        add_group((kind.embedding ? embedding_ : 0) + (kind.loss ? head_ : 0), 1, true, sync);
    } else {
        add_group(kind.embedding ? embedding_ : 0, 1, kept, sync);
        add_group(kind.loss ? head_ : 0, 1, true, sync);
    }
}

/// While a forward's last part runs: the smallest group, or where groups are kept all of the rank's lowest stage, which
/// has begun before the others.
ByteCount SyncTimer::gathered(const Space& space, const std::vector<int>& kinds) const {
    if (!shards_parameters(job_.plan) || comms_.size() == 1 || job_.software.structure.counts_buffers) return 0;
    const int width = activation_bytes(job_.plan.precision);
    if (is_fsdp(job_.plan.data_parallel) && !job_.plan.reshard_after_forward) {
        const RankParameters lowest = parameters(space.kinds[static_cast<std::size_t>(kinds.front())]);
        return width * (lowest.dense + lowest.expert);
    }
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    const auto note = [&](bool held, std::int64_t elements) {
        if (held) least = std::min(least, elements);
    };
    for (const int known : kinds) {
        const StageKind& kind = space.kinds[static_cast<std::size_t>(known)];
        note(kind.dense > 0, dense_.dense + dense_.expert);
        note(kind.experts > 0, experts_.dense + experts_.expert);
        note(kind.mtp > 0, 0);  // its head has no parameters of its own
        note(kind.embedding, embedding_);
        note(kind.loss, head_);
    }
    return width * least;
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
    const Picoseconds overhead = to_picoseconds(job_.software.numbers.step_overhead);
    sync.update = optimizer(static_cast<double>(all.dense), static_cast<double>(all.expert)) + overhead;
    sync.busy = job_.plan.offload_optimizer ? overhead : sync.update;
    sync.finish = sync.update + gathers(space, kinds);
    for (const int kind : kinds) add_lane(space.kinds[static_cast<std::size_t>(kind)], sync);
    const StateBytes states = state_bytes(job_, all.dense, all.expert);
    sync.held = states.total() + library_;
    sync.gathered = gathered(space, kinds);
    sync.optimizer_step = states.optimizer_step;
    return sync;
}

/// A timer with the job that it looks at.
struct ShardingTimer {
    Job job;
    SyncTimer timer;
    ShardingTimer(Job its_job, ReplicaComms& comms, const CostModel& cost)
        : job(std::move(its_job)), timer(job, comms, cost) {}
};

/// What a form adds to the timers of its grid, one per sharding. @param shape a job of the form with all degrees
FormSync form_sync(const Space& space, const PipelineForm& form, const Job& shape,
                   const std::vector<std::unique_ptr<ShardingTimer>>& timers, const NetworkModel& network) {
    FormSync result;
    for (const auto& known : timers) {
        for (const std::vector<int>& kinds : form.classes) result.ranks.push_back(known->timer.sync(space, kinds));
        result.reduces_first.push_back(known->timer.reduces_first() ? 1 : 0);
    }
    result.runtime = bytes_in(runtime_parts(shape));
    result.ties_embedding = ties_embedding_across_ranks(shape) && form.rank.front() != form.rank.back();
    if (!result.ties_embedding) return result;
    const CommTime time = network.collective(CollectiveKind::all_reduce, Bytes(embedding_gradient_bytes(shape)),
                                             group_placement(shape, Axis::embedding));
    result.embedding = to_picoseconds(time.busy) + to_picoseconds(time.latency);
    return result;
}

}  // namespace

GridCosts::GridCosts(const Space& space, int cell, int grid, const CostModel& cost, const NetworkModel& network) {
    const Grid& grid_shape = space.cells[static_cast<std::size_t>(cell)].grids[static_cast<std::size_t>(grid)];
    // Micro-batch and sequence parallelism do not matter here: any branch of the cell will do.
    const auto branch = std::find_if(space.branches.begin(), space.branches.end(),
                                     [&](const Branch& known) { return known.cell == cell; });
    if (branch == space.branches.end()) return;
    PlanKey key{static_cast<std::int32_t>(branch - space.branches.begin()), static_cast<std::int16_t>(grid),
                static_cast<std::int16_t>(grid_shape.forms.front()), 0, 0};
    const auto job_of = [&](int form, std::size_t sharding) {
        Job job = space.templates[static_cast<std::size_t>(form)][sharding];
        key.form = static_cast<std::int16_t>(form);
        key.sharding = static_cast<std::int16_t>(sharding);
        set_plan(space, key, job);
        return job;
    };
    Job shape = job_of(grid_shape.forms.front(), 0);
    groups = {group_placement(shape, Axis::tp), group_placement(shape, Axis::cp), group_placement(shape, Axis::ep)};
    ReplicaComms comms(group_placement(shape, Axis::dp), network);
    for (int r = 0; r < shape.plan.pp; ++r) local.push_back(share_domain(shape, r, (r + 1) % shape.plan.pp) ? 1 : 0);
    // But for ends that share a rank, nothing depends on how layers stand on stages.
    std::array<std::vector<std::unique_ptr<ShardingTimer>>, 2> timers;
    forms.reserve(grid_shape.forms.size());
    for (const int form : grid_shape.forms) {
        shape.plan = space.templates[static_cast<std::size_t>(form)].front().plan;
        key.form = static_cast<std::int16_t>(form);
        key.sharding = 0;
        set_plan(space, key, shape);
        auto& known = timers.at(ends_share_rank(shape) ? 1 : 0);
        for (std::size_t s = known.size(); s < space.shardings.size(); ++s) {
            known.push_back(std::make_unique<ShardingTimer>(job_of(form, s), comms, cost));
        }
        forms.push_back(form_sync(space, space.forms[static_cast<std::size_t>(form)], shape, known, network));
    }
}

AllGridCosts all_grid_costs(const Space& space, const SpaceCosts& costs, int threads, const std::stop_token& stop) {
    std::vector<std::pair<int, int>> all;
    AllGridCosts grids(space.cells.size());
    for (std::size_t c = 0; c < space.cells.size(); ++c) {
        for (std::size_t g = 0; g < space.cells[c].grids.size(); ++g) {
            all.emplace_back(static_cast<int>(c), static_cast<int>(g));
        }
    }
    std::vector<std::optional<GridCosts>> made(all.size());
    parallel_for(threads, all.size(), [&](std::size_t i, int) {
        check_stop(stop);
        const auto [cell, grid] = all[i];
        const Precision precision = space.cells[static_cast<std::size_t>(cell)].precision;
        made[i].emplace(space, cell, grid, costs.of(precision), costs.tasks());
    });
    for (std::size_t i = 0; i < all.size(); ++i) {
        grids[static_cast<std::size_t>(all[i].first)].push_back(std::move(*made[i]));
    }
    return grids;
}

}  // namespace foreshard
