#include "sim/search/candidate_queue.hpp"

namespace foreshard {

std::vector<QueuedPlan> CandidateQueue::pop_some(std::size_t most, const Incumbents& known) {
    std::vector<QueuedPlan> some;
    for (; !plans_.empty() && some.size() < most; plans_.pop()) {
        const Candidate& first = plans_.top().candidate;
        if (!known.rule_out(first.step_time, first.memory, first.busy_time)) some.push_back(plans_.top());
    }
    return some;
}

}  // namespace foreshard
