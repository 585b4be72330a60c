#include "sim/search/neighbours.hpp"

#include <algorithm>
#include <cmath>

#include "sim/engine/evaluate.hpp"
#include "sim/engine/stoppable.hpp"
#include "sim/prefixes.hpp"
#include "sim/search/neighbour_plans.hpp"
#include "sim/search/parallel.hpp"
#include "sim/search/search.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard {

namespace {

/// What is compared of a simulated plan.
struct ComparedPlan {
    Run run;  ///< accounts and step only
    Summary summary;
    PeakParts parts{};
    ByteCount need = 0;  ///< allocated and outside the allocator
};

PeakParts peak_parts(const RankMemory& memory) {
    return {memory.states.weights, memory.states.gradients, memory.states.optimizer, memory.activations,
            memory.buffers};
}

ComparedPlan compared(const Evaluation& e) {
    ComparedPlan plan;
    plan.summary = e.report.summary;
    plan.run.step_time = e.timeline.step_time();
    const RankReport* fullest = nullptr;
    for (const RankReport& rank : e.report.ranks) {
        plan.run.accounts.push_back(rank.account);
        if (fullest == nullptr || rank.memory.peak > fullest->memory.peak) fullest = &rank;
    }
    plan.parts = peak_parts(fullest->memory);
    plan.need = plan.summary.peak_memory + e.buffers.runtime_bytes();
    return plan;
}

void set_differences(const ComparedPlan& best, const ComparedPlan& other, ByteCount limit, Neighbour& neighbour) {
    const Waterfall steps = waterfall(best.run, other.run);
    neighbour.summary = other.summary;
    neighbour.step_difference = steps.step_b - steps.step_a;
    neighbour.terms = steps.difference;
    for (std::size_t i = 0; i < other.parts.size(); ++i) neighbour.peak_parts[i] = other.parts[i] - best.parts[i];
    neighbour.peak_difference = other.summary.peak_memory - best.summary.peak_memory;
    neighbour.missing_memory = std::max(other.need - limit, ByteCount{0});
}

}  // namespace

std::string_view to_string(PeakPart part) {
    static constexpr std::array<std::string_view, peak_part_count> names = {"weights", "gradients", "optimizer",
                                                                            "activations", "buffers"};
    return names[static_cast<std::size_t>(part)];
}

std::vector<PlanChange> plan_changes(const JobRequest& from, const JobRequest& to) {
    std::vector<PlanChange> changes;
    for (const RequestValue& value : changed_values(from, to)) {
        changes.push_back({value.name, request_value(from, value.name), value.text});
    }
    return changes;
}

std::vector<Neighbour> neighbours_of_best(const SearchRequest& request, const SearchOutcome& outcome,
                                          const std::stop_token& stop) {
    if (outcome.plans.empty()) return {};
    std::vector<Neighbour> all = neighbour_plans(request, outcome);
    const auto limit = static_cast<ByteCount>(std::llround(outcome.memory_limit_gib * gibi));
    std::vector<std::optional<ComparedPlan>> plans(all.size());
    const auto simulated = [&](const JobRequest& plan) {
        check_stop(stop);
        return compared(evaluate(resolve(merge(outcome.loaded, plan)), stop));
    };
    parallel_for(std::max(outcome.threads, 1), all.size(), [&](std::size_t i, int) {
        if (all[i].broken.empty()) plans[i] = simulated(all[i].plan);
    });
    const ComparedPlan best = simulated(outcome.plans.front().plan);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (plans[i]) set_differences(best, *plans[i], limit, all[i]);
    }
    return all;
}

}  // namespace foreshard
