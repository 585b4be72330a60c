#include "sim/search/plan_bound.hpp"

#include <algorithm>

#include "sim/spec/schedule_kinds.hpp"

namespace foreshard {

RunTraits run_traits(const Job& job, const PipelineForm& form) {
    RunTraits run;
    run.may_split = traits_of(form.schedule).split_backward;
    // The lists of ZB-V have no whole backward.
    run.split = form.schedule == ScheduleKind::zb_v;
    // Messages of a fused pair leave together.
    const bool pairs = form.schedule == ScheduleKind::dualpipe || form.schedule == ScheduleKind::dualpipe_v;
    run.blocking = !pairs && !job.plan.overlap_p2p.value_or(job.software.structure.overlap_p2p);
    return run;
}

namespace {

const StageFigures& stage_figures(const PlanParts& parts, std::size_t stage) {
    return parts.table->at(parts.form->kind[stage]);
}

Picoseconds less(Picoseconds pass, Picoseconds slack) {
    return slack == 0 ? pass : std::max(pass - slack, Picoseconds{0});
}

/// Times of a stage's passes, less what rounding of parts may take off.
struct StagePasses {
    Picoseconds forward = 0;
    Picoseconds backward = 0;  ///< until the weights' gradients are there
    Picoseconds gradient = 0;  ///< until the input's gradient is there
};

StagePasses stage_passes(const PlanParts& parts, std::size_t stage, StageCost StageFigures::*times) {
    const StageCost& cost = stage_figures(parts, stage).*times;
    Picoseconds slack = 0;
    if (parts.slack > 0) {
        // A stage of few layers has as many parts at most.
        const int kind = parts.form->kind[stage];
        slack = parts.slack * (parts.table->layers(kind) + 2);
    }
    const Picoseconds whole = less(cost.backward, slack);
    const Picoseconds input = less(cost.input_grad, slack);
    const Picoseconds both = input + less(cost.weight_grad, slack);
    StagePasses passes{less(cost.forward, slack), whole, whole};
    if (!parts.run.may_split) return passes;
    passes.gradient = parts.run.split ? input : std::min(whole, input);
    passes.backward = parts.run.split ? both : std::min(whole, both);
    return passes;
}

}  // namespace

Picoseconds PipelineBounds::hop(const PlanParts& parts, std::size_t stage) const {
    const auto a = static_cast<std::size_t>(parts.form->rank[stage]);
    const auto b = static_cast<std::size_t>(parts.form->rank[stage + 1]);
    if (a == b) return 0;
    // Neighbours, or the last rank and the first one again.
    const std::size_t pair = b + 1 == a ? b : a;
    return parts.grid->local[pair] != 0 ? parts.hop_inside : parts.hop_across;
}

void PipelineBounds::compute(const PlanParts& parts) {
    const auto ranks = static_cast<std::size_t>(parts.form->pp);
    passes_ = 0;
    for (std::vector<Picoseconds>* all :
         {&head_, &work_, &until_gradient_, &slowest_send_, &gradient_, &ends_, &copies_}) {
        all->assign(ranks, 0);
    }
    if (parts.form->two_directions()) {
        add_two_directions(parts);
    } else {
        add_stages(parts);
        follow_gradients(parts);
    }
    if (parts.table->offloads()) wait_for_copies(parts);
}

/// What waits on the host left one layer after the other, the last of it before its backward.
void PipelineBounds::wait_for_copies(const PlanParts& parts) {
    const PipelineForm& form = *parts.form;
    const Picoseconds m = parts.microbatches;
    const std::size_t ranks = ends_.size();
    if (form.two_directions()) {
        for (std::size_t r = 0; r < ranks; ++r) {
            copies_[r] = m * std::min(stage_figures(parts, r).copies, stage_figures(parts, ranks - 1 - r).copies);
        }
    } else {
        for (std::size_t s = 0; s < form.kind.size(); ++s) {
            copies_[static_cast<std::size_t>(form.rank[s])] += m * stage_figures(parts, s).copies;
        }
    }
    for (std::size_t r = 0; r < ranks; ++r) ends_[r] = std::max(ends_[r], copies_[r]);
}

/// Every placement of one direction runs the first p stages on ranks 0 to p - 1, so that a rank's first stage is its
/// lowest one.
void PipelineBounds::add_stages(const PlanParts& parts) {
    const PipelineForm& form = *parts.form;
    const Picoseconds m = parts.microbatches;
    const std::size_t stages = form.kind.size();
    Picoseconds path = 0;
    Picoseconds down = 0;
    for (std::size_t s = 0; s < stages; ++s) {
        const auto r = static_cast<std::size_t>(form.rank[s]);
        const StagePasses passes = stage_passes(parts, s, &StageFigures::paced);
        const StagePasses busy = parts.table->offloads() ? stage_passes(parts, s, &StageFigures::cost) : passes;
        const Picoseconds up = s + 1 < stages ? hop(parts, s) : 0;
        const Picoseconds sends = parts.run.blocking ? up + down : 0;
        if (s < head_.size()) {
            head_[r] = path;
            gradient_[r] = passes.gradient;
        }
        work_[r] += m * (passes.forward + passes.backward + sends);
        passes_ += m * (busy.forward + busy.backward);
        until_gradient_[r] += m * (passes.forward + passes.gradient + sends);
        slowest_send_[r] = std::max(slowest_send_[r], sends);
        path += passes.forward + up;
        down = up;
    }
    for (std::size_t r = 0; r < ends_.size(); ++r) ends_[r] = head_[r] + work_[r] - slowest_send_[r];
}

/// A rank's last gradient is of its lowest stage at the earliest; then it still has to pass the stages below.
void PipelineBounds::follow_gradients(const PlanParts& parts) {
    Picoseconds chain = 0;
    for (std::size_t r = ends_.size(); r-- > 1;) {
        chain = std::max(chain, head_[r] + until_gradient_[r] - slowest_send_[r]);
        chain += hop(parts, r - 1) + gradient_[r - 1];
        ends_[r - 1] = std::max(ends_[r - 1], chain);
    }
}

/// However many micro-batches go either way, a rank runs each on one of its two stages.
void PipelineBounds::add_two_directions(const PlanParts& parts) {
    const std::size_t ranks = ends_.size();
    for (std::size_t r = 0; r < ranks; ++r) {
        const auto less_work = [&](StageCost StageFigures::*times) {
            const StagePasses one = stage_passes(parts, r, times);
            const StagePasses other = stage_passes(parts, ranks - 1 - r, times);
            return parts.microbatches * std::min(one.forward + one.backward, other.forward + other.backward);
        };
        work_[r] = less_work(&StageFigures::paced);
        ends_[r] = work_[r];
        passes_ += less_work(&StageFigures::cost);
    }
}

/// As in estimate(): without a reduction of all gradients in front, the exchange waits for its two stages only.
Picoseconds PipelineBounds::exchange_end(const PlanParts& parts, const FormSync& sync, int sharding,
                                         const RankSync& at_first, const RankSync& at_last) const {
    const PipelineForm& form = *parts.form;
    const auto first = static_cast<std::size_t>(form.rank.front());
    const auto last = static_cast<std::size_t>(form.rank.back());
    const bool one_stage = form.kind.size() == static_cast<std::size_t>(form.pp);
    const bool all = one_stage || sync.reduces_first[static_cast<std::size_t>(sharding)] != 0;
    const Picoseconds from_first = all || !parts.run.may_split ? ends_[first] + at_first.reduce : 0;
    const Picoseconds from_last = all ? ends_[last] + at_last.reduce : 0;
    return std::max(from_first, from_last) + sync.embedding;
}

Picoseconds PipelineBounds::step(const PlanParts& parts, const FormSync& sync, int sharding, StepOrder order) const {
    const PipelineForm& form = *parts.form;
    const RankSync* ranks = &sync.ranks[static_cast<std::size_t>(sharding) * form.classes.size()];
    const auto of = [&](std::size_t r) -> const RankSync& { return ranks[form.rank_class[r]]; };
    Picoseconds step = 0;
    if (order == StepOrder::flowing) {
        for (std::size_t r = 0; r < work_.size(); ++r) step = std::max(step, work_[r] + of(r).update);
        return step;
    }
    const auto first = static_cast<std::size_t>(form.rank.front());
    const auto last = static_cast<std::size_t>(form.rank.back());
    const Picoseconds met = sync.ties_embedding ? exchange_end(parts, sync, sharding, of(first), of(last)) : 0;
    for (std::size_t r = 0; r < ends_.size(); ++r) {
        const Picoseconds lane = parts.microbatches * of(r).lane_each + of(r).lane_once;
        Picoseconds at = std::max(ends_[r] + of(r).reduce, lane);
        if (sync.ties_embedding && (r == first || r == last)) at = std::max(at, met);
        // A rank's step begins with its first pass, wherever the others are.
        const Picoseconds begin = order == StepOrder::by_rank ? head_[r] : 0;
        step = std::max(step, at + of(r).finish - begin);
    }
    return step;
}

Picoseconds PipelineBounds::busy_time(const PlanParts& parts, const FormSync& sync, int sharding) const {
    const PipelineForm& form = *parts.form;
    const RankSync* ranks = &sync.ranks[static_cast<std::size_t>(sharding) * form.classes.size()];
    Picoseconds total = passes_;
    for (const int rank_class : form.rank_class) total += ranks[rank_class].busy;
    return total / form.pp;
}

namespace {

/// Sure to be held on one rank at once, with the working set of the pass that finds it.
struct HeldTensors {
    ByteCount saved = 0;
    ByteCount working = 0;
};

class RankHoldings {
public:
    RankHoldings(const PlanParts& parts, bool cut, bool cut_forward, int group)
        : parts_(parts),
          form_(*parts.form),
          m_(parts.microbatches),
          group_(group),
          cut_(cut),
          cut_forward_(cut_forward) {}

    HeldTensors on(std::int64_t rank) const {
        switch (form_.schedule) {
            case ScheduleKind::none:
                return of_stage(rank, 1);
            case ScheduleKind::one_f_one_b:
                return of_stage(rank, std::min(m_, form_.pp - rank));
            case ScheduleKind::gpipe:
                return of_stage(rank, m_);
            case ScheduleKind::interleaved:
                return interleaved(rank);
            case ScheduleKind::breadth_first:
                return all_chunks(rank, m_);
            case ScheduleKind::zb_v:
                return zb_v(rank);
            default:
                return of_stage(rank, 1);
        }
    }

private:
    const StageFigures& stage(std::int64_t s) const {
        return parts_.table->at(form_.kind[static_cast<std::size_t>(s)]);
    }
    ByteCount forward(std::int64_t s) const { return cut_forward_ ? stage(s).least : stage(s).forward; }
    /// The pass behind the forward that fills up the rank is the backward of the same stage.
    ByteCount either(std::int64_t s) const { return cut_ ? forward(s) : std::max(stage(s).forward, stage(s).backward); }

    HeldTensors of_stage(std::int64_t s, std::int64_t microbatches) const {
        return {microbatches * stage(s).saved, either(s)};
    }
    HeldTensors all_chunks(std::int64_t rank, std::int64_t microbatches) const {
        HeldTensors held;
        for (std::int64_t s = rank; s < static_cast<std::int64_t>(form_.kind.size()); s += form_.pp) {
            held.saved += microbatches * stage(s).saved;
            held.working = forward(s);
        }
        return held;
    }
    HeldTensors interleaved(std::int64_t rank) const;
    HeldTensors zb_v(std::int64_t rank) const;

    const PlanParts& parts_;
    const PipelineForm& form_;
    std::int64_t m_;
    std::int64_t group_;
    bool cut_;
    bool cut_forward_;
};

/// Forwards in front of the first backward, by chunk: whole groups of micro-batches, then a part of one. That backward
/// is of the last chunk.
HeldTensors RankHoldings::interleaved(std::int64_t rank) const {
    const std::int64_t p = form_.pp;
    const std::int64_t v = form_.vpp;
    const std::int64_t forwards = std::min(m_ * v, 2 * (p - 1 - rank) + (v - 1) * group_ + 1);
    const std::int64_t whole = forwards / (group_ * v) * group_;
    const std::int64_t turn = std::min(group_, m_ - whole);
    std::int64_t rest = forwards - whole * v;
    HeldTensors held;
    std::int64_t latest = (v - 1) * p + rank;
    for (std::int64_t c = 0; c < v; ++c) {
        const std::int64_t more = std::clamp(rest, std::int64_t{0}, turn);
        rest -= more;
        const std::int64_t s = c * p + rank;
        held.saved += (whole + more) * stage(s).saved;
        if (more > 0) latest = s;
    }
    held.working = forward(latest);
    if (!cut_) held.working = std::max(held.working, stage((v - 1) * p + rank).backward);
    return held;
}

/// Both builders of ZB-V let a rank run 2 (p - r) - 1 forwards of its first chunk in front of the first one of its
/// second chunk, on whatever times.
HeldTensors RankHoldings::zb_v(std::int64_t rank) const {
    const std::int64_t second = std::int64_t{2} * form_.pp - 1 - rank;
    const std::int64_t first = std::min(m_, 2 * (form_.pp - rank) - 1);
    return {first * stage(rank).saved + stage(second).saved, forward(second)};
}

}  // namespace

ByteCount memory_bound(const PlanParts& parts, const FormSync& sync, int sharding, bool cut, bool cut_forward,
                       int group) {
    const PipelineForm& form = *parts.form;
    const RankHoldings holdings(parts, cut, cut_forward, group);
    const RankSync* ranks = &sync.ranks[static_cast<std::size_t>(sharding) * form.classes.size()];
    ByteCount most = 0;
    for (int r = 0; r < form.pp; ++r) {
        const RankSync& mine = ranks[form.rank_class[static_cast<std::size_t>(r)]];
        const HeldTensors held = holdings.on(r);
        // The tail stands where the last backward's tensors are gone.
        const bool first_stage = !cut && form.rank.front() == r && !form.two_directions();
        const StageFigures& figures = parts.table->at(form.kind[static_cast<std::size_t>(r)]);
        const bool known = form.schedule == ScheduleKind::none || form.schedule == ScheduleKind::one_f_one_b ||
                           form.schedule == ScheduleKind::gpipe;
        const ByteCount tail = first_stage && known ? held.saved - figures.saved + figures.tail : 0;
        const ByteCount filled = held.saved + held.working + mine.gathered;
        most = std::max({most, mine.held + std::max(filled, tail), mine.held + mine.optimizer_step});
    }
    return most;
}

}  // namespace foreshard
