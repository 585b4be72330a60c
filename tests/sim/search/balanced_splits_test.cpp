#include "sim/search/balanced_splits.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "sim/engine/balance.hpp"
#include "sim/error.hpp"
#include "sim/search/search.hpp"
#include "sim/spec/request_text.hpp"

/// Layers of stages by load: against all splits, and searches with them.
namespace foreshard {
namespace {

double busiest(const std::vector<int>& counts, const std::vector<int>& stage_rank, const EndLoads& loads) {
    std::vector<double> load(counts.size(), 0.0);
    for (std::size_t s = 0; s < counts.size(); ++s) load[static_cast<std::size_t>(stage_rank[s])] += counts[s];
    load[static_cast<std::size_t>(stage_rank.front())] += loads.embedding;
    load[static_cast<std::size_t>(stage_rank.back())] += loads.loss;
    return *std::max_element(load.begin(), load.end());
}

/// The smallest load of the busiest rank of all splits of `left` layers over the stages from `stage` on.
double least_busiest(std::vector<int>& counts, std::size_t stage, int left, const std::vector<int>& stage_rank,
                     const EndLoads& loads) {
    if (stage + 1 == counts.size()) {
        counts[stage] = left;
        return busiest(counts, stage_rank, loads);
    }
    double least = 1e300;
    const int others = static_cast<int>(counts.size() - stage) - 1;
    for (int n = 1; n <= left - others; ++n) {
        counts[stage] = n;
        least = std::min(least, least_busiest(counts, stage + 1, left - n, stage_rank, loads));
    }
    return least;
}

TEST(SplitByLoad, IsAsEvenAsAnySplit) {
    std::mt19937 dice(7);
    const std::vector<std::vector<int>> placements = {
        {0, 1, 2}, {0, 1, 2, 3}, {0, 1, 0, 1}, {0, 1, 1, 0}, {0, 1, 2, 2, 1, 0}};
    for (int i = 0; i < 60; ++i) {
        const std::vector<int>& ranks = placements[dice() % placements.size()];
        const int layers = static_cast<int>(ranks.size() + dice() % 9);
        const EndLoads loads{0.1 * static_cast<double>(dice() % 10), 0.1 * static_cast<double>(dice() % 60)};
        std::vector<int> any(ranks.size(), 1);
        const double least = least_busiest(any, 0, layers, ranks, loads);
        const std::vector<int> counts = split_by_load(layers, ranks, loads);
        EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0), layers);
        EXPECT_GE(*std::min_element(counts.begin(), counts.end()), 1);
        EXPECT_DOUBLE_EQ(busiest(counts, ranks, loads), least);
    }
    EXPECT_EQ(split_by_load(10, {0, 1, 2, 3}, {}), (std::vector<int>{3, 3, 2, 2}));
}

/// 128 k words weigh as much as a few layers of an 8B model, and less beside layers that run their forward again.
TEST(EndLoads, KnowTheVocabulary) {
    JobRequest request;
    request.model = "llama3-8b";
    request.cluster = "dgx-h100";
    request.gpus = 8;
    request.gbs = 8;
    request.mbs = 1;
    const Job job = resolve(request);
    const EndLoads kept = end_loads(job, Recompute::none);
    const EndLoads again = end_loads(job, Recompute::full);
    EXPECT_GT(kept.loss, 2.0);
    EXPECT_LT(kept.loss, 4.5);
    EXPECT_LT(again.loss, kept.loss);
    EXPECT_LT(kept.embedding, 0.3);
}

SearchRequest llama_on_8_stages() {
    SearchRequest request;
    request.base.model = "llama3-8b";
    request.base.cluster = "dgx-h100";
    request.base.gpus = 32;
    request.base.gbs = 64;
    request.constraints = {{"tp", "1"},           {"cp", "1"},          {"pp", "8"},  {"mbs", "1"},
                           {"recompute", "none"}, {"schedule", "1f1b"}, {"zero", "1"}};
    request.threads = 1;
    return request;
}

/// What `simulate --balance` descends to, the search finds nearly as good among a handful of splits.
TEST(BalancedSplits, AreWhatASearchOfOneMachineNeeds) {
    SearchRequest request = llama_on_8_stages();
    const SearchOutcome both = search(request);
    request.constraints["balance"] = "off";
    const SearchOutcome even = search(request);
    request.constraints["balance"] = "on";
    const SearchOutcome balanced = search(request);
    ASSERT_EQ(even.evaluated, 1);
    EXPECT_FALSE(even.plans.front().plan.layout);
    for (const FoundPlan& found : balanced.plans) EXPECT_TRUE(found.plan.layout);
    EXPECT_EQ(both.evaluated, even.evaluated + balanced.evaluated);
    const double best_ms = both.plans.front().summary.step_time_ms;
    EXPECT_EQ(best_ms, balanced.plans.front().summary.step_time_ms);
    EXPECT_LT(best_ms, 0.8 * even.plans.front().summary.step_time_ms);
    JobRequest alone = merge(request.base, even.plans.front().plan);
    const Evaluation descent = evaluate_balanced(resolve(alone));
    EXPECT_LT(best_ms, 1.015 * descent.report.summary.step_time_ms);
}

TEST(BalancedSplits, AreNeighboursOfEvenOnes) {
    const SearchRequest request = llama_on_8_stages();
    const std::vector<Neighbour> neighbours = neighbours_of_best(request, search(request));
    const auto is_even = [](const Neighbour& n) { return n.change.name == "layout" && n.change.to.empty(); };
    EXPECT_TRUE(std::any_of(neighbours.begin(), neighbours.end(), is_even));
}

TEST(BalancedSplits, RefuseWhatIsNoSwitch) {
    SearchRequest request = llama_on_8_stages();
    request.constraints["balance"] = "perhaps";
    EXPECT_THROW(search(request), InputError);
}

}  // namespace
}  // namespace foreshard
