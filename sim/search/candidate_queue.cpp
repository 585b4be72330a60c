#include "sim/search/candidate_queue.hpp"

#include "sim/spec/data_parallel.hpp"

namespace foreshard {

bool bounds_are_tight(const Space& space, const PlanKey& key) {
    const ScheduleKind kind = space.forms[static_cast<std::size_t>(key.form)].schedule;
    const bool usual = kind == ScheduleKind::none || kind == ScheduleKind::one_f_one_b || kind == ScheduleKind::gpipe ||
                       kind == ScheduleKind::interleaved || kind == ScheduleKind::zb_v;
    const ParallelPlan& plan =
        space.templates[static_cast<std::size_t>(key.form)][static_cast<std::size_t>(key.sharding)].plan;
    return usual && !shards_gradients(plan) && !shards_parameters(plan) && !plan.overlap_grad_reduce;
}

std::vector<QueuedPlan> CandidateQueue::pop_some(std::size_t most, const Incumbents& known) {
    std::vector<QueuedPlan> some;
    for (; !plans_.empty() && some.size() < most; plans_.pop()) {
        const Candidate& first = plans_.top().candidate;
        if (!known.rule_out(first.step_time, first.memory, first.busy_time)) some.push_back(plans_.top());
    }
    return some;
}

}  // namespace foreshard
