#include "sim/engine/pipeline_bound.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sim/engine/closed_forms.hpp"

namespace foreshard {

namespace {

constexpr Picoseconds unbounded = std::numeric_limits<Picoseconds>::max();

/// Adds lower bounds of a shape up, one direction of micro-batches at a time.
class EndBound {
public:
    EndBound(const PipelineShape& shape, const PipelineCosts& costs) : shape_(shape), costs_(costs) {
        const auto ranks = static_cast<std::size_t>(shape.ranks);
        head_.assign(ranks, unbounded);
        work_.assign(ranks, 0);
        until_gradient_.assign(ranks, 0);
        slowest_send_.assign(ranks, 0);
        for (std::size_t d = 0; d < shape.stage_rank.size(); ++d) add_direction(d);
        if (shape.vocabulary) add_vocabulary();
    }

    std::vector<Picoseconds> work() const { return work_; }
    std::vector<Picoseconds> starts() const {
        std::vector<Picoseconds> starts = head_;
        std::replace(starts.begin(), starts.end(), unbounded, Picoseconds{0});
        return starts;
    }

    std::vector<Picoseconds> ends() const {
        std::vector<Picoseconds> ends(work_.size(), 0);
        for (std::size_t r = 0; r < ends.size(); ++r) {
            if (head_[r] != unbounded) ends[r] = head_[r] + work_[r] - slowest_send_[r];
        }
        for (std::size_t r = 0; r < ends.size(); ++r) {
            if (head_[r] != unbounded) follow_gradients(r, ends);
        }
        return ends;
    }

private:
    Picoseconds gradient(int stage) const {
        const StageCost& c = costs_.stages[static_cast<std::size_t>(stage)];
        if (shape_.whole && shape_.split) return std::min(c.backward, c.input_grad);
        return shape_.split ? c.input_grad : c.backward;
    }
    Picoseconds whole_backward(int stage) const {
        const StageCost& c = costs_.stages[static_cast<std::size_t>(stage)];
        const Picoseconds both = c.input_grad + c.weight_grad;
        if (shape_.whole && shape_.split) return std::min(c.backward, both);
        return shape_.split ? both : c.backward;
    }
    /// A blocking message holds its sender as long as it takes. Those of a fused pair leave together: left out.
    Picoseconds sends(std::size_t d, int stage) const {
        if (!costs_.blocking || shape_.fused) return 0;
        const auto s = static_cast<std::size_t>(stage);
        const Picoseconds up = stage + 1 < shape_.stages ? costs_.hop[d][s] : 0;
        const Picoseconds down = stage > 0 ? costs_.hop[d][s - 1] : 0;
        return up + down;
    }

    void add_direction(std::size_t d);
    void add_vocabulary();
    void follow_gradients(std::size_t from, std::vector<Picoseconds>& ends) const;
    Picoseconds fall(std::size_t d, int from, int to) const;

    const PipelineShape& shape_;
    const PipelineCosts& costs_;
    std::vector<Picoseconds> head_;            ///< before it no micro-batch reaches the rank
    std::vector<Picoseconds> work_;            ///< all passes, and blocking sends
    std::vector<Picoseconds> until_gradient_;  ///< passes that precede the rank's last gradient in any order
    std::vector<Picoseconds> slowest_send_;    ///< the rank's last send may follow its last pass
};

void EndBound::add_direction(std::size_t d) {
    const Picoseconds m = shape_.direction_microbatches[d];
    if (m == 0) return;
    Picoseconds path = 0;
    for (int s = 0; s < shape_.stages; ++s) {
        const auto r = static_cast<std::size_t>(shape_.stage_rank[d][static_cast<std::size_t>(s)]);
        const Picoseconds forward = costs_.stages[static_cast<std::size_t>(s)].forward;
        head_[r] = std::min(head_[r], path);
        work_[r] += m * (forward + whole_backward(s) + sends(d, s));
        until_gradient_[r] += m * (forward + gradient(s) + sends(d, s));
        slowest_send_[r] = std::max(slowest_send_[r], sends(d, s));
        path += forward;
        if (s + 1 < shape_.stages) path += costs_.hop[d][static_cast<std::size_t>(s)];
    }
}

/// Every rank runs S and T of every micro-batch; what the last stage's backward waits for precedes all gradients.
void EndBound::add_vocabulary() {
    const Picoseconds m = shape_.microbatches;
    const bool early = shape_.vocabulary == VocabularySplit::one_barrier;
    for (std::size_t r = 0; r < work_.size(); ++r) {
        work_[r] += m * (costs_.vocab_forward + costs_.vocab_backward);
        until_gradient_[r] += m * (costs_.vocab_forward + (early ? 0 : costs_.vocab_backward));
    }
}

/// Gradient passes and hops after stage `from` is done until stage `to` is.
Picoseconds EndBound::fall(std::size_t d, int from, int to) const {
    Picoseconds time = 0;
    for (int s = from; s > to; --s) time += costs_.hop[d][static_cast<std::size_t>(s) - 1] + gradient(s - 1);
    return time;
}

/// The rank's last gradient is of one of its stages; whichever it is, the stages below all of them come after.
void EndBound::follow_gradients(std::size_t from, std::vector<Picoseconds>& ends) const {
    const Picoseconds released = head_[from] + until_gradient_[from] - slowest_send_[from];
    std::vector<Picoseconds> best(ends.size(), unbounded);
    for (std::size_t d = 0; d < shape_.stage_rank.size(); ++d) {
        if (shape_.direction_microbatches[d] == 0) continue;
        const std::vector<int>& rank = shape_.stage_rank[d];
        for (int last = 0; last < shape_.stages; ++last) {
            if (rank[static_cast<std::size_t>(last)] != static_cast<int>(from)) continue;
            std::vector<Picoseconds> after(ends.size(), 0);
            for (int s = last - 1; s >= 0; --s) {
                Picoseconds& end = after[static_cast<std::size_t>(rank[static_cast<std::size_t>(s)])];
                end = std::max(end, released + fall(d, last, s));
            }
            for (std::size_t r = 0; r < best.size(); ++r) best[r] = std::min(best[r], after[r]);
        }
    }
    for (std::size_t r = 0; r < ends.size(); ++r) {
        if (best[r] != unbounded) ends[r] = std::max(ends[r], best[r]);
    }
}

}  // namespace

PipelineShape pipeline_shape(const Schedule& schedule) {
    PipelineShape shape{.ranks = schedule.ranks,
                        .stages = schedule.stages,
                        .microbatches = schedule.microbatches,
                        .stage_rank = {},
                        .direction_microbatches = {},
                        .vocabulary = schedule.vocabulary};
    const std::size_t directions = schedule.stage_rank.size() / static_cast<std::size_t>(schedule.stages);
    for (std::size_t d = 0; d < directions; ++d) {
        const auto first = schedule.stage_rank.begin() + static_cast<std::ptrdiff_t>(d) * schedule.stages;
        shape.stage_rank.emplace_back(first, first + schedule.stages);
    }
    shape.direction_microbatches.assign(directions, 0);
    if (schedule.direction.empty()) shape.direction_microbatches.front() = schedule.microbatches;
    for (const std::uint8_t d : schedule.direction) ++shape.direction_microbatches[d];
    for (const auto& list : schedule.actions) {
        for (const Action& action : list) {
            shape.whole |= action.pass == Pass::backward;
            shape.split |= action.pass == Pass::input_grad;
            shape.fused |= action.fused_with_next;
        }
    }
    return shape;
}

std::vector<Picoseconds> earliest_ends(const Job& job, const PipelineShape& shape, const PipelineCosts& costs) {
    // Nothing overlaps there, whatever else holds the ranks up.
    if (!job.schedule_file && job.plan.schedule == ScheduleKind::naive) return naive_ends(shape, costs).ends;
    return EndBound(shape, costs).ends();
}

std::vector<Picoseconds> earliest_starts(const PipelineShape& shape, const PipelineCosts& costs) {
    return EndBound(shape, costs).starts();
}

std::vector<Picoseconds> rank_work(const PipelineShape& shape, const PipelineCosts& costs) {
    return EndBound(shape, costs).work();
}

}  // namespace foreshard
