#include "sim/search/simulated_plan.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "sim/engine/evaluate.hpp"
#include "sim/engine/stoppable.hpp"

namespace foreshard {

namespace {

Picoseconds mean_busy_time(const Report& report) {
    Picoseconds total = 0;
    for (const RankReport& rank : report.ranks) total += busy_time(rank.account);
    return total / static_cast<Picoseconds>(report.ranks.size());
}

/// Of plans in the order of their step times.
std::vector<bool> on_front(const std::vector<SimulatedPlan>& plans) {
    std::vector<bool> result;
    ByteCount least = std::numeric_limits<ByteCount>::max();
    for (const SimulatedPlan& plan : plans) {
        result.push_back(plan.memory < least);
        least = std::min(least, plan.memory);
    }
    return result;
}

}  // namespace

SimulatedPlan simulate_plan(const Space& space, const PlanKey& key, const std::stop_token& stop) {
    const Evaluation e = evaluate(resolve(merge(space.base, plan_request(space, key))), stop);
    SimulatedPlan plan;
    plan.key = key;
    plan.step_time = e.timeline.step_time();
    plan.busy_time = mean_busy_time(e.report);
    plan.memory = e.report.summary.peak_memory;
    plan.need = plan.memory + e.buffers.runtime_bytes();
    plan.summary = e.report.summary;
    return plan;
}

ToldPlans told_plans(std::vector<SimulatedPlan>& plans, const ObjectiveWeights& weights, int top) {
    std::sort(plans.begin(), plans.end(), [](const SimulatedPlan& a, const SimulatedPlan& b) {
        return std::tie(a.step_time, a.memory, a.key) < std::tie(b.step_time, b.memory, b.key);
    });
    const std::vector<bool> in_front = on_front(plans);
    const auto value = [&](std::size_t i) { return weights.value(plans[i].step_time, plans[i].busy_time); };
    std::vector<std::size_t> order(plans.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return value(a) < value(b); });
    ToldPlans told;
    std::vector<std::pair<std::size_t, std::size_t>> front;  // place by step time, place among those told
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (!in_front[order[i]] && static_cast<int>(i) >= top) continue;
        if (in_front[order[i]]) front.emplace_back(order[i], told.places.size());
        told.places.push_back(order[i]);
    }
    std::sort(front.begin(), front.end());
    for (const auto& [by_step, place] : front) told.front.push_back(place);
    return told;
}

}  // namespace foreshard
