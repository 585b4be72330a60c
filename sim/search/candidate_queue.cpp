#include "sim/search/candidate_queue.hpp"

#include <algorithm>

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

bool comes_first(const Candidate& a, const Candidate& b) {
    return a.step_time != b.step_time ? a.step_time < b.step_time : a.key < b.key;
}

std::vector<std::size_t> front_of_bounds(const std::vector<Candidate>& candidates, std::size_t most) {
    std::vector<std::size_t> front;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (front.empty() || candidates[i].memory < candidates[front.back()].memory) front.push_back(i);
    }
    std::vector<std::size_t> some;
    const std::size_t step = (front.size() + most - 1) / most;
    for (std::size_t i = 0; i < front.size(); i += step) some.push_back(front[i]);
    return some;
}

bool CandidateQueue::comes_later(const QueuedPlan& a, const QueuedPlan& b) const {
    const double first = value(b);
    const double second = value(a);
    return first != second ? first < second : comes_first(b.candidate, a.candidate);
}

void CandidateQueue::push(const QueuedPlan& plan) {
    plans_.push_back(plan);
    std::push_heap(plans_.begin(), plans_.end(), [this](const auto& a, const auto& b) { return comes_later(a, b); });
}

std::vector<QueuedPlan> CandidateQueue::pop_some(std::size_t most, const Incumbents& known) {
    std::vector<QueuedPlan> some;
    while (!plans_.empty() && some.size() < most) {
        std::pop_heap(plans_.begin(), plans_.end(), [this](const auto& a, const auto& b) { return comes_later(a, b); });
        const Candidate& first = plans_.back().candidate;
        if (!known.rule_out(first.step_time, first.memory, first.busy_time)) some.push_back(plans_.back());
        plans_.pop_back();
    }
    return some;
}

}  // namespace foreshard
