#include "sim/engine/closed_forms.hpp"

#include <algorithm>

#include "sim/spec/schedule_kinds.hpp"

namespace foreshard {

namespace {

bool equal_stages(const PipelineCosts& costs) {
    const StageCost& first = costs.stages.front();
    return std::all_of(costs.stages.begin(), costs.stages.end(), [&](const StageCost& c) {
        return c.forward == first.forward && c.backward == first.backward && c.input_grad == first.input_grad &&
               c.weight_grad == first.weight_grad;
    });
}

bool free_hops(const PipelineCosts& costs) {
    return std::all_of(costs.hop.begin(), costs.hop.end(), [](const std::vector<Picoseconds>& hops) {
        return std::all_of(hops.begin(), hops.end(), [](Picoseconds hop) { return hop == 0; });
    });
}

/// No message takes longer than the pass that follows it on the slowest stage, so links never hold up the flow.
bool quick_hops(const PipelineCosts& costs) {
    Picoseconds forward = 0;
    Picoseconds backward = 0;
    for (const StageCost& c : costs.stages) {
        forward = std::max(forward, c.forward);
        backward = std::max(backward, c.backward);
    }
    const std::vector<Picoseconds>& hops = costs.hop.front();
    return std::all_of(hops.begin(), hops.end(), [&](Picoseconds hop) { return hop <= std::min(forward, backward); });
}

/// Two flow shops of equal jobs, the forwards and the backwards: sum + (m - 1) max each (GPipe, arXiv 1811.06965).
/// Precondition: quick_hops, or messages that are pure latency.
ExactEnds gpipe_ends(const PipelineShape& shape, const PipelineCosts& costs) {
    ExactEnds exact;
    exact.form = "sum f + (m-1) max f + sum b + (m-1) max b + 2 sum hop";
    const Picoseconds more = shape.microbatches - 1;
    Picoseconds sum = 0;
    Picoseconds slowest = 0;
    for (const StageCost& c : costs.stages) {
        sum += c.forward;
        slowest = std::max(slowest, c.forward);
    }
    for (const Picoseconds hop : costs.hop.front()) sum += hop;
    const Picoseconds turn = sum + more * slowest;
    sum = 0;
    slowest = 0;
    exact.ends.resize(costs.stages.size());
    for (std::size_t s = costs.stages.size(); s-- > 0;) {
        sum += costs.stages[s].backward;
        slowest = std::max(slowest, costs.stages[s].backward);
        exact.ends[s] = turn + sum + more * slowest;
        if (s > 0) sum += costs.hop.front()[s - 1];
    }
    exact.makespan = exact.ends.front();
    return exact;
}

/// 1F1B and interleaved 1F1B of equal stages: (m v + p - 1)(f + b) (arXiv 2104.04473 section 2.2).
ExactEnds one_f_one_b_ends(const PipelineShape& shape, const PipelineCosts& costs) {
    ExactEnds exact;
    exact.form = "(m v + p - 1)(f + b)";
    const StageCost& c = costs.stages.front();
    const Picoseconds chunks = shape.stages / shape.ranks;
    exact.makespan = (shape.microbatches * chunks + shape.ranks - 1) * (c.forward + c.backward);
    for (int r = 0; r < shape.ranks; ++r) exact.ends.push_back(exact.makespan - r * c.backward);
    return exact;
}

/// Vocabulary passes of all ranks fit between the others where a backward lasts two forwards.
ExactEnds vocabulary_ends(const PipelineShape& shape, const PipelineCosts& costs) {
    ExactEnds exact;
    exact.form = "(m + p - 1)(f + b) + m (s + t)";
    const StageCost& c = costs.stages.front();
    exact.makespan = (shape.microbatches + shape.ranks - 1) * (c.forward + c.backward) +
                     shape.microbatches * (costs.vocab_forward + costs.vocab_backward);
    return exact;
}

/// Idle time beside the passes of the busiest rank, of stages that all take f, i and w, with free messages. Sources are
/// those of the schedules; each form is tested over grids.
class EqualStages {
public:
    EqualStages(const ParallelPlan& plan, const PipelineShape& shape, const StageCost& c)
        : plan_(plan), p_(shape.ranks), m_(shape.microbatches), f_(c.forward), i_(c.input_grad), w_(c.weight_grad) {}

    std::optional<Picoseconds> bubble() const {
        switch (plan_.schedule) {
            case ScheduleKind::breadth_first:
                return (p_ - 1 + (plan_.vpp - 1) * std::max(Picoseconds{0}, p_ - m_)) * (f_ + b());
            case ScheduleKind::zb_h1:
                // Ranks start f apart; the makespan cannot lose less than that.
                return when(m_ >= 2 * p_, (p_ - 1) * std::max(f_, i_ + std::max(Picoseconds{0}, f_ - w_)));
            case ScheduleKind::zb_h2:
            case ScheduleKind::zb_v:
                return when(unit() && m_ >= 2 * p_ - 1, (p_ - 1) * f_);
            case ScheduleKind::interleaved_zb:
                return when(unit() && m_ >= p_, (p_ - 1) * f_);
            case ScheduleKind::v_half:
                return when(unit() && m_ >= 2 * p_, v_half() * f_);
            case ScheduleKind::v_min:
                return when(unit() && m_ >= 2 * p_, (p_ % 3 == 0 ? 4 * p_ - 7 : 4 * p_ - 5) * f_);
            case ScheduleKind::dualpipe:
                return when(f_ == i_ && f_ >= w_, (p_ / 2 - 1) * (f_ + 2 * b() - 3 * w_));
            case ScheduleKind::dualpipe_v:
                return when(f_ == i_ && f_ >= w_, (p_ - 1) * (f_ + 2 * b() - 3 * w_));
            case ScheduleKind::chimera:
                return waves((p_ - 2) * f_, (p_ - 2) * (m_ / p_ + 1) * f_);
            case ScheduleKind::hanayo:
                return waves(2 * (p_ - 1) * f_, 2 * (p_ - 1) * (m_ / p_ + 1) * f_);
            default:
                return std::nullopt;
        }
    }

private:
    Picoseconds b() const { return i_ + w_; }
    bool unit() const { return f_ == i_ && i_ == w_; }
    static std::optional<Picoseconds> when(bool holds, Picoseconds bubble) {
        return holds ? std::optional(bubble) : std::nullopt;
    }
    Picoseconds v_half() const {
        if (p_ == 2) return 1;
        return p_ % 2 == 0 ? 3 * p_ - 7 : 3 * p_ - 4;
    }
    /// Whole units of p micro-batches in slots; F and B as long as each other, or B twice as long.
    std::optional<Picoseconds> waves(Picoseconds even, Picoseconds twice) const {
        if (m_ % p_ != 0 || (b() != f_ && b() != 2 * f_)) return std::nullopt;
        return b() == f_ ? even : twice;
    }

    const ParallelPlan& plan_;
    Picoseconds p_;
    Picoseconds m_;
    Picoseconds f_;
    Picoseconds i_;
    Picoseconds w_;
};

/// Only the makespan is known, so a step that goes on after the pipeline has no closed form.
std::optional<ExactEnds> equal_stage_ends(const Job& job, const PipelineShape& shape, const PipelineCosts& costs) {
    if (!job.stage_times || !equal_stages(costs) || !free_hops(costs)) return std::nullopt;
    const std::optional<Picoseconds> bubble = EqualStages(job.plan, shape, costs.stages.front()).bubble();
    if (!bubble) return std::nullopt;
    const Picoseconds work = rank_work(shape, costs).front();
    return ExactEnds{{}, work + *bubble, "work + " + std::string(traits_of(job.plan.schedule).bubble)};
}

}  // namespace

/// One micro-batch at a time: everything is in one row.
ExactEnds naive_ends(const PipelineShape& shape, const PipelineCosts& costs) {
    ExactEnds exact;
    exact.form = "m (sum f + sum b + 2 sum hop)";
    Picoseconds round = 0;
    for (const StageCost& c : costs.stages) round += c.forward + c.backward;
    for (const Picoseconds hop : costs.hop.front()) round += 2 * hop;
    exact.makespan = shape.microbatches * round;
    Picoseconds end = exact.makespan;
    for (std::size_t s = 0; s < costs.stages.size(); ++s) {
        exact.ends.push_back(end);
        end -= costs.stages[s].backward;
        if (s < costs.hop.front().size()) end -= costs.hop.front()[s];
    }
    return exact;
}

std::optional<ExactEnds> exact_ends(const Job& job, const PipelineShape& shape, const PipelineCosts& costs) {
    if (job.schedule_file || (costs.blocking && shape.ranks > 1)) return std::nullopt;
    switch (job.plan.schedule) {
        case ScheduleKind::none:
        case ScheduleKind::naive:
            return naive_ends(shape, costs);
        case ScheduleKind::gpipe:
            if (!job.stage_times && !quick_hops(costs)) return std::nullopt;
            return gpipe_ends(shape, costs);
        case ScheduleKind::one_f_one_b:
        case ScheduleKind::interleaved:
            if (!equal_stages(costs) || !free_hops(costs)) return std::nullopt;
            return one_f_one_b_ends(shape, costs);
        case ScheduleKind::vocab_1:
        case ScheduleKind::vocab_2:
        case ScheduleKind::interlaced:
            if (!equal_stages(costs) || !free_hops(costs)) return std::nullopt;
            if (!job.stage_times || costs.stages.front().backward != 2 * costs.stages.front().forward) {
                return std::nullopt;
            }
            return vocabulary_ends(shape, costs);
        default:
            return equal_stage_ends(job, shape, costs);
    }
}

}  // namespace foreshard
