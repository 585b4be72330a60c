#include "sim/engine/estimate.hpp"

#include <algorithm>

#include "sim/cost/calibrated.hpp"
#include "sim/cost/durations.hpp"
#include "sim/cost/nccl_network.hpp"
#include "sim/engine/closed_forms.hpp"
#include "sim/engine/lane_bound.hpp"
#include "sim/plan/parameters.hpp"
#include "sim/spec/calibration.hpp"
#include "sim/spec/data_parallel.hpp"
#include "sim/spec/schedule_kinds.hpp"

namespace foreshard {

namespace {

Picoseconds total(const CommDuration& time) {
    return time.busy + time.latency;
}

/// Costs of one job and the chain of work that follows the pipeline on every rank.
class StepBound {
public:
    StepBound(const Job& job, const Schedule& schedule, const CostModel& cost, const NetworkModel& network)
        : job_(job), schedule_(schedule), shape_(pipeline_shape(schedule)), cost_(cost), network_(network) {
        if (job.stage_times) {
            take_given_costs();
        } else {
            compute_costs();
        }
    }

    Estimate run() const {
        if (flows()) return period();
        const std::optional<ExactEnds> exact = exact_ends(job_, shape_, costs_);
        const bool known = exact && (job_.stage_times || (!exact->ends.empty() && closed()));
        if (job_.stage_times && known) return {exact->makespan, true, exact->form};
        const std::vector<Picoseconds> ends =
            exact && !exact->ends.empty() ? exact->ends : earliest_ends(job_, shape_, costs_);
        return {
            job_.stage_times ? *std::max_element(ends.begin(), ends.end()) : after_sync(ends), known,
            known ? exact->form + " + sync" : "max over ranks of head + work + tail, and of the data-parallel lane"};
    }

private:
    /// Steps flow into each other: no rank waits for the pipeline to drain.
    bool flows() const {
        const bool asynchronous = !job_.schedule_file && traits_of(job_.plan.schedule).asynchronous;
        return asynchronous || job_.plan.skew_steps > 1;
    }
    /// Parameters are gathered under the next step's forwards, which each rank begins behind its own end.
    bool begins_alone() const { return job_.plan.overlap_param_gather && data_.size > 1; }
    Estimate period() const;
    /// One reduction after the pipeline, one gather after the optimizer: plain DDP, ZeRO-1 and 2.
    bool plain() const {
        return job_.plan.data_parallel == DataParallelKind::ddp && !shards_parameters(job_.plan) &&
               inner_group_size(job_.plan) == data_.size;
    }
    /// Communication that hides under compute, replicas in two directions, and what a calibration says of ranks' waits
    /// have no closed form here.
    bool closed() const {
        const bool hides = job_.plan.overlap_grad_reduce || job_.plan.overlap_param_gather;
        const bool waits = job_.calibration != nullptr && job_.calibration->rank_lead;
        return !waits && job_.plan.offload_activation_layers == 0 && shape_.stage_rank.size() == 1 &&
               (data_.size == 1 || (plain() && !hides));
    }

    /// The exchange of the tied embedding follows the reduction of all gradients; without one, the last pass of the two
    /// stages that hold it, which need not be the last one of their ranks.
    bool exchange_waits_for_all() const {
        return shape_.stages == shape_.ranks || (data_.size > 1 && !shards_parameters(job_.plan));
    }

    /// Passes may be cut (for buckets, sharded or offloaded layers), and each cut is rounded.
    bool cuts_passes() const {
        const bool by_layers = shards_parameters(job_.plan) || job_.plan.overlap_grad_reduce;
        return job_.plan.offload_activation_layers > 0 || (by_layers && data_.size > 1);
    }
    void take_given_costs();
    void compute_costs();
    void allow_for_rounding();
    void price_hops();
    Picoseconds after_sync(const std::vector<Picoseconds>& ends) const;
    Picoseconds reduced(std::size_t rank, Picoseconds at) const;
    Picoseconds finished(std::size_t rank, Picoseconds at) const;
    Picoseconds optimizer(std::size_t rank) const {
        if (job_.plan.offload_optimizer) return to_picoseconds(offloaded_update(job_, optimized_[rank]));
        const double bytes = job_.software.numbers.optimizer_bytes_per_parameter * optimized_[rank];
        return to_picoseconds(cost_.optimizer(optimized_[rank], Bytes(bytes)).seconds);
    }
    Picoseconds step_overhead() const { return to_picoseconds(job_.software.numbers.step_overhead); }
    CommDuration comm(CollectiveKind kind, Axis axis, double bytes, int parts = 1) const {
        return comm_duration(job_, network_, {kind, axis, Bytes(bytes), 0, 0, 1, parts});
    }

    const Job& job_;
    const Schedule& schedule_;
    PipelineShape shape_;
    const CostModel& cost_;
    const NetworkModel& network_;
    PipelineCosts costs_;
    GroupPlacement data_;
    std::vector<std::vector<double>> stage_parameters_;  ///< per rank and stage that it holds: dense
    std::vector<double> optimized_;                      ///< per rank: parameters that its optimizer updates
};

void StepBound::take_given_costs() {
    for (const StageTimes::Stage& s : job_.stage_times->stages) {
        costs_.stages.push_back({s.forward, s.input_grad + s.weight_grad, s.input_grad, s.weight_grad});
    }
    costs_.vocab_forward = job_.stage_times->vocab_forward;
    costs_.vocab_backward = job_.stage_times->vocab_backward;
    for (const std::vector<int>& rank : shape_.stage_rank) {
        costs_.hop.emplace_back();
        for (std::size_t s = 0; s + 1 < rank.size(); ++s) {
            costs_.hop.back().push_back(rank[s] == rank[s + 1] ? 0 : job_.stage_times->hop);
        }
    }
}

void StepBound::price_hops() {
    const Bytes message = pipeline_message(job_);
    for (const std::vector<int>& rank : shape_.stage_rank) {
        costs_.hop.emplace_back();
        for (std::size_t s = 0; s + 1 < rank.size(); ++s) {
            const CommClass hop{CollectiveKind::send_recv, Axis::pp, message, rank[s], rank[s + 1]};
            costs_.hop.back().push_back(rank[s] == rank[s + 1] ? 0 : total(comm_duration(job_, network_, hop)));
        }
    }
}

void StepBound::compute_costs() {
    data_ = group_placement(job_, Axis::dp);
    costs_.blocking = !job_.plan.overlap_p2p.value_or(job_.software.structure.overlap_p2p);
    StageCoster coster(job_, cost_, network_);
    for (const StageContents& contents : stage_layout(job_)) costs_.stages.push_back(coster.cost(contents));
    price_hops();
    if (cuts_passes()) allow_for_rounding();
    const bool sharded = shards_optimizer(job_.plan);
    const double replicas = sharded ? shard_size(job_.plan) : 1.0;
    const double expert_replicas = sharded ? std::min(shard_size(job_.plan), expert_data_parallel(job_)) : 1.0;
    stage_parameters_.resize(static_cast<std::size_t>(shape_.ranks));
    std::vector<double> dense(stage_parameters_.size(), 0.0);
    std::vector<double> expert(stage_parameters_.size(), 0.0);
    if (shape_.vocabulary) {
        const StageCost share = coster.vocabulary_share();
        costs_.vocab_forward = share.forward;
        // Where T is cut in two, each part is rounded.
        costs_.vocab_backward = share.backward - (shape_.vocabulary == VocabularySplit::interlaced ? 1 : 0);
        for (std::size_t r = 0; r < dense.size(); ++r) {
            stage_parameters_[r].push_back(static_cast<double>(share.parameters));
            dense[r] += static_cast<double>(share.parameters);
        }
    }
    for (const std::vector<int>& rank : shape_.stage_rank) {
        for (std::size_t s = 0; s < rank.size(); ++s) {
            const auto r = static_cast<std::size_t>(rank[s]);
            stage_parameters_[r].push_back(static_cast<double>(costs_.stages[s].parameters));
            dense[r] += static_cast<double>(costs_.stages[s].parameters);
            expert[r] += static_cast<double>(costs_.stages[s].expert_parameters);
        }
    }
    for (std::size_t r = 0; r < dense.size(); ++r) {
        optimized_.push_back(dense[r] / replicas + expert[r] / expert_replicas);
    }
}

/// Every part of a pass is rounded by half a picosecond at most for everything that its time is spent on.
void StepBound::allow_for_rounding() {
    const std::vector<StageContents> layout = stage_layout(job_);
    for (std::size_t s = 0; s < costs_.stages.size(); ++s) {
        const Picoseconds most = Picoseconds{spent_count} * (layout[s].layers + layout[s].mtp_layers + 2);
        StageCost& cost = costs_.stages[s];
        for (Picoseconds* pass : {&cost.forward, &cost.backward, &cost.input_grad, &cost.weight_grad}) {
            *pass = std::max(*pass - most, Picoseconds{0});
        }
    }
}

Picoseconds StepBound::reduced(std::size_t rank, Picoseconds at) const {
    if (data_.size == 1 || job_.plan.overlap_grad_reduce || !plain()) return at;
    double elements = 0.0;
    for (const double stage : stage_parameters_[rank]) elements += stage;
    const CollectiveKind kind =
        shards_optimizer(job_.plan) ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
    return at + total(comm(kind, Axis::dp, elements * reduced_gradient_bytes(job_)));
}

Picoseconds StepBound::finished(std::size_t rank, Picoseconds at) const {
    at += optimizer(rank);
    if (data_.size > 1 && plain() && shards_optimizer(job_.plan) && !job_.plan.overlap_param_gather) {
        Picoseconds latency = 0;
        for (const double elements : stage_parameters_[rank]) {
            const double bytes = elements * activation_bytes(job_.plan.precision);
            const int parts = job_.software.structure.zero_gathers_by_broadcast ? shard_size(job_.plan) : 1;
            const CommDuration gather = comm(CollectiveKind::all_gather, Axis::dp, bytes, parts);
            at += gather.busy;
            latency = gather.latency;
        }
        at += latency;
    }
    return at + step_overhead();
}

Picoseconds StepBound::after_sync(const std::vector<Picoseconds>& ends) const {
    const std::vector<Picoseconds> starts = earliest_starts(shape_, costs_);
    const std::vector<Picoseconds> lane = lane_ends(job_, schedule_, costs_, starts, cost_, network_);
    std::vector<Picoseconds> at;
    for (std::size_t r = 0; r < ends.size(); ++r) at.push_back(std::max(reduced(r, ends[r]), lane[r]));
    const auto first = static_cast<std::size_t>(shape_.stage_rank.front().front());
    const auto last = static_cast<std::size_t>(shape_.stage_rank.front().back());
    if (ties_embedding_across_ranks(job_) && first != last) {
        const double bytes = embedding_gradient_bytes(job_);
        const bool all = exchange_waits_for_all();
        // Stage 0 runs the last backward of its rank, unless weight gradients stand apart.
        const Picoseconds from_first = all || !shape_.split ? at[first] : 0;
        const Picoseconds from_last = all ? at[last] : 0;
        const Picoseconds met =
            std::max(from_first, from_last) + total(comm(CollectiveKind::all_reduce, Axis::embedding, bytes));
        at[first] = std::max(at[first], met);
        at[last] = std::max(at[last], met);
    }
    Picoseconds step = 0;
    for (std::size_t r = 0; r < at.size(); ++r) {
        step = std::max(step, finished(r, at[r]) - (begins_alone() ? starts[r] : 0));
    }
    return step;
}

/// A rank runs its passes and updates one after the other; PipeDream updates after every backward.
Estimate StepBound::period() const {
    const std::vector<Picoseconds> work = rank_work(shape_, costs_);
    const bool every = !job_.schedule_file && job_.plan.schedule == ScheduleKind::pipedream;
    Picoseconds step = 0;
    for (std::size_t r = 0; r < work.size(); ++r) {
        Picoseconds updates = 0;
        if (!job_.stage_times) updates = optimizer(r) * (every ? shape_.microbatches : 1) + step_overhead();
        step = std::max(step, work[r] + updates);
    }
    return {step, false, "max over ranks of work + updates"};
}

}  // namespace

Estimate estimate(const Job& job, const Schedule& schedule) {
    const CalibratedCost cost(job);
    const NcclNetwork network(job);
    return estimate(job, schedule, cost, network);
}

Estimate estimate(const Job& job, const Schedule& schedule, const CostModel& cost, const NetworkModel& network) {
    return StepBound(job, schedule, cost, network).run();
}

}  // namespace foreshard
