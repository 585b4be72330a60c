#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "sim/engine/evaluate.hpp"
#include "sim/prefixes.hpp"
#include "sim/search/search.hpp"
#include "sim/search/text_search.hpp"
#include "sim/spec/request_text.hpp"
#include "tests/support/search_spaces.hpp"

/// What a search tells beside its plans: neighbours, sensitivity, plans as they are found, degrees without a plan.
namespace foreshard {
namespace {

SearchRequest small_space(std::uint64_t seed) {
    SearchRequest request = test::random_search(seed);
    request.base.num_layers = 4;
    if (seed % 2 == 0) request.max_memory_gib = 40.0;
    return request;
}

ByteCount need_of(const Evaluation& e) {
    return e.report.summary.peak_memory + e.buffers.runtime_bytes();
}

class Explained : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, Explained, testing::Range(std::uint64_t{1}, std::uint64_t{7}));

/// None that runs is faster, since all are of the space; differences are those of the simulations, to the picosecond
/// and to the byte.
TEST_P(Explained, NeighboursLoseByWhatTheirPartsSumTo) {
    const SearchRequest request = small_space(GetParam());
    const SearchOutcome result = search(request);
    ASSERT_FALSE(result.plans.empty());
    const std::vector<Neighbour> neighbours = neighbours_of_best(request, result);
    ASSERT_GE(neighbours.size(), 4U);
    const Evaluation best = evaluate(resolve(merge(result.base, result.plans.front().plan)));
    for (const Neighbour& neighbour : neighbours) {
        const std::string who = neighbour.change.name + " " + neighbour.change.to;
        EXPECT_NE(neighbour.change.from, neighbour.change.to) << who;
        const Job job = resolve(merge(result.base, neighbour.plan));
        EXPECT_EQ(check(job).empty(), neighbour.broken.empty()) << who;
        EXPECT_EQ(neighbour.summary.has_value(), neighbour.broken.empty()) << who;
        if (!neighbour.broken.empty()) continue;
        const Evaluation e = evaluate(job);
        EXPECT_EQ(neighbour.step_difference, e.timeline.step_time() - best.timeline.step_time()) << who;
        EXPECT_EQ(std::accumulate(neighbour.terms.begin(), neighbour.terms.end(), Picoseconds{0}),
                  neighbour.step_difference)
            << who;
        EXPECT_EQ(neighbour.peak_difference, e.report.summary.peak_memory - best.report.summary.peak_memory) << who;
        EXPECT_EQ(std::accumulate(neighbour.peak_parts.begin(), neighbour.peak_parts.end(), ByteCount{0}),
                  neighbour.peak_difference)
            << who;
        const auto limit = static_cast<ByteCount>(result.memory_limit_gib * gibi);
        EXPECT_EQ(neighbour.missing_memory, std::max(need_of(e) - limit, ByteCount{0})) << who;
        EXPECT_TRUE(!neighbour.runs() || neighbour.step_difference >= 0) << who << " is faster";
    }
}

/// Every plan of the space that differs in a single choice of two is a neighbour.
TEST_P(Explained, NeighboursAreAllPlansThatDifferInOneWord) {
    const SearchRequest request = small_space(GetParam());
    const SearchOutcome result = search(request);
    ASSERT_FALSE(result.plans.empty());
    std::set<std::string> found;
    for (const Neighbour& neighbour : neighbours_of_best(request, result)) found.insert(request_flags(neighbour.plan));
    const test::BoundedSpace bounded = test::bounded_space(request);
    std::size_t expected = 0;
    for (const Candidate& candidate : bounded.plans) {
        const JobRequest plan = plan_request(bounded.space, candidate.key);
        const std::vector<RequestValue> changes = changed_values(result.plans.front().plan, plan);
        if (changes.size() != 1) continue;
        const std::string& name = changes.front().name;
        if (name != "sp" && name != "recompute" && name != "zero") continue;
        EXPECT_TRUE(found.contains(request_flags(plan))) << request_flags(plan);
        ++expected;
    }
    EXPECT_GT(expected, 0U);
}

/// 32 heads do not divide by 3, and the next value is looked at too.
TEST(Neighbours, AValueThatARuleForbidsIsTold) {
    SearchRequest request;
    request.base.model = "llama3-8b";
    request.base.num_layers = 6;
    request.base.cluster = "dgx-h100";
    request.base.gpus = 24;
    request.base.gbs = 24;
    request.constraints = {{"tp", "2,3,4"}, {"pp", "1"}, {"cp", "1"}, {"schedule", "none"}};
    request.threads = 1;
    SearchOutcome result = search(request);
    ASSERT_FALSE(result.plans.empty());
    ASSERT_EQ(result.plans.front().plan.tp, 2);
    result.neighbours = neighbours_of_best(request, result);
    const auto of_tp = [&](const std::string& to) {
        const auto found = std::find_if(result.neighbours.begin(), result.neighbours.end(),
                                        [&](const Neighbour& n) { return n.change.name == "tp" && n.change.to == to; });
        return found == result.neighbours.end() ? nullptr : &*found;
    };
    ASSERT_NE(of_tp("3"), nullptr);
    EXPECT_NE(of_tp("3")->broken.find("32"), std::string::npos) << of_tp("3")->broken;
    ASSERT_NE(of_tp("4"), nullptr);
    EXPECT_TRUE(of_tp("4")->runs());
    ASSERT_EQ(of_tp("4")->plan.dp, 6);
    EXPECT_NE(neighbours_text(result).find("tp 2 -> 3"), std::string::npos);
    EXPECT_NE(neighbours_text(result).find("cannot run: "), std::string::npos);
}

SearchRequest llama_on_16() {
    SearchRequest request;
    request.base.model = "llama3-8b";
    request.base.num_layers = 4;
    request.base.cluster = "dgx-h100";
    request.base.gpus = 16;
    request.base.gbs = 16;
    request.constraints = {{"cp", "1"}, {"mbs", "1..2"}, {"schedule", "1f1b,interleaved-1f1b"}};
    request.max_memory_gib = 30.0;
    request.threads = 2;
    return request;
}

SearchRequest with_loaded_specs(SearchRequest request) {
    request.base = with_specs(request.base);
    return request;
}

/// Scaled by one nothing changes; better hardware is never slower, worse never faster.
TEST(Sensitivities, FollowTheHardware) {
    const SearchRequest request = llama_on_16();
    const SearchOutcome result = search(request);
    ASSERT_FALSE(result.plans.empty());
    const double best = result.plans.front().summary.step_time_ms;
    for (int i = 0; i < hardware_figure_count; ++i) {
        const auto same = scaled_request(with_loaded_specs(request), static_cast<HardwareFigure>(i), 1.0);
        ASSERT_TRUE(same.has_value());
        EXPECT_EQ(search(*same).plans.front().summary.step_time_ms, best) << key_of(static_cast<HardwareFigure>(i));
    }
    const std::vector<Sensitivity> all = sensitivity_of(request, result);
    ASSERT_EQ(all.size(), static_cast<std::size_t>(hardware_figure_count) * sensitivity_scales.size());
    for (const Sensitivity& one : all) {
        ASSERT_TRUE(one.plan.has_value());
        const bool better = (one.scale > 1.0) != (one.figure == HardwareFigure::latency);
        EXPECT_LE(better ? one.step_time_ms : best, better ? best : one.step_time_ms)
            << key_of(one.figure) << " " << one.scale;
        EXPECT_GE(one.kept_step_time_ms.value_or(one.step_time_ms), one.step_time_ms) << key_of(one.figure);
        EXPECT_EQ(one.other_plan, request_flags(*one.plan) != request_flags(result.plans.front().plan));
    }
    EXPECT_GT(all.front().step_time_ms, best) << "a fifth less FLOP/s costs time";
}

/// Each is the search on that hardware.
TEST(Sensitivities, AreSearchesOnScaledHardware) {
    const SearchRequest request = llama_on_16();
    for (const Sensitivity& one : sensitivity_of(request, search(request))) {
        const auto scaled = scaled_request(with_loaded_specs(request), one.figure, one.scale);
        EXPECT_EQ(search(*scaled).plans.front().summary.step_time_ms, one.step_time_ms) << key_of(one.figure);
    }
}

struct Streamed {
    std::vector<std::string> flags;
    std::vector<double> best_ms;
    bool operator==(const Streamed&) const = default;
};

Streamed streamed(const SearchRequest& request, SearchOutcome& result) {
    Streamed all;
    std::int64_t simulated = 0;
    result = search(request, {}, {}, [&](const Improvement& improvement) {
        all.flags.push_back(request_flags(improvement.found.plan));
        if (improvement.best) all.best_ms.push_back(improvement.found.summary.step_time_ms);
        EXPECT_GT(improvement.simulated, simulated);
        simulated = improvement.simulated;
    });
    return all;
}

/// All that is printed at the end was told on the way, in an order that threads do not change.
TEST_P(Explained, ResultsStream) {
    SearchRequest request = small_space(GetParam());
    SearchOutcome result;
    request.threads = 1;
    const Streamed one = streamed(request, result);
    for (const FoundPlan& plan : result.plans) {
        EXPECT_EQ(std::count(one.flags.begin(), one.flags.end(), request_flags(plan.plan)), 1);
    }
    ASSERT_FALSE(one.best_ms.empty());
    EXPECT_TRUE(std::is_sorted(one.best_ms.rbegin(), one.best_ms.rend()));
    EXPECT_EQ(one.best_ms.back(), result.plans.front().summary.step_time_ms);
    request.threads = 5;
    EXPECT_EQ(streamed(request, result), one);
}

using Degrees = std::pair<int, int>;

/// Listed degrees have no plan that fits; without pruning, all of which every bound is too large are listed.
TEST_P(Explained, CellsWithoutAPlanAreTold) {
    SearchRequest request = small_space(GetParam());
    request.max_memory_gib = 12.0;
    const test::BoundedSpace bounded = test::bounded_space(request);
    const auto limit = static_cast<ByteCount>(*request.max_memory_gib * gibi);
    std::map<Degrees, std::int64_t> plans;
    std::set<Degrees> may_fit;
    std::set<Degrees> fits;
    for (const Candidate& candidate : bounded.plans) {
        const JobRequest plan = plan_request(bounded.space, candidate.key);
        const Degrees degrees{*plan.tp, *plan.pp};
        ++plans[degrees];
        if (candidate.memory <= limit) may_fit.insert(degrees);
        if (candidate.memory > limit || fits.contains(degrees)) continue;
        if (need_of(evaluate(test::job_of(bounded.space, candidate.key))) <= limit) fits.insert(degrees);
    }
    for (const bool exhaustive : {false, true}) {
        request.exhaustive = exhaustive;
        const SearchOutcome result = search(request);
        std::set<Degrees> listed;
        for (const InfeasibleCell& cell : result.infeasible_cells) {
            const Degrees degrees{cell.tp, cell.pp};
            listed.insert(degrees);
            EXPECT_FALSE(fits.contains(degrees)) << cell.tp << " " << cell.pp;
            EXPECT_FALSE(cell.reasons.empty());
            const auto count = plans.find(degrees);
            if (count == plans.end()) continue;
            EXPECT_EQ(cell.reasons.at("memory"), count->second);
        }
        for (const auto& [degrees, count] : plans) {
            EXPECT_TRUE(!exhaustive || may_fit.contains(degrees) || listed.contains(degrees));
        }
        EXPECT_TRUE(listed.contains({8, 4}) || request.constraints["tp"] != "2..8") << "32 ranks are too many";
    }
}

}  // namespace
}  // namespace foreshard
