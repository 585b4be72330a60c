#include "sim/search/search.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "sim/engine/evaluate.hpp"
#include "sim/error.hpp"
#include "sim/prefixes.hpp"
#include "sim/spec/request_text.hpp"
#include "tests/support/search_spaces.hpp"

/// The search against simulating every plan.
namespace foreshard {
namespace {

struct Point {
    double step_time_ms = 0.0;
    ByteCount memory = 0;
    auto operator<=>(const Point&) const = default;
};

/// Of all plans of a space that fit: step times in order, and the front.
struct BruteForce {
    std::vector<double> times_ms;
    std::vector<Point> front;
};

BruteForce simulate_all(const SearchRequest& request) {
    const test::BoundedSpace bounded = test::bounded_space(request);
    std::vector<Point> points;
    for (const Candidate& plan : bounded.plans) {
        const Evaluation e = evaluate(test::job_of(bounded.space, plan.key));
        const Summary& summary = e.report.summary;
        ByteCount limit = summary.memory_capacity;
        if (request.max_memory_gib) limit = std::min(limit, static_cast<ByteCount>(*request.max_memory_gib * gibi));
        if (summary.peak_memory + e.buffers.runtime_bytes() > limit) continue;
        points.push_back({summary.step_time_ms, summary.peak_memory});
    }
    std::sort(points.begin(), points.end());
    BruteForce result;
    for (const Point& point : points) {
        result.times_ms.push_back(point.step_time_ms);
        if (result.front.empty() || point.memory < result.front.back().memory) result.front.push_back(point);
    }
    return result;
}

std::vector<Point> front_of(const SearchResult& result) {
    std::vector<Point> front;
    for (const std::size_t i : result.front) {
        front.push_back({result.plans[i].summary.step_time_ms, result.plans[i].summary.peak_memory});
    }
    return front;
}

std::vector<std::string> told(const SearchResult& result) {
    std::vector<std::string> lines;
    for (const FoundPlan& found : result.plans) {
        lines.push_back(request_flags(found.plan) + " " + std::to_string(found.summary.step_time_ms));
    }
    return lines;
}

class SmallSpace : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, SmallSpace, testing::Range(std::uint64_t{1}, std::uint64_t{13}));

TEST_P(SmallSpace, GivesWhatBruteForceGives) {
    SearchRequest request = test::random_search(GetParam());
    request.base.num_layers = 4;
    if (GetParam() % 3 == 0) request.max_memory_gib = 30.0;
    const BruteForce all = simulate_all(request);
    const SearchResult pruned = search(request);
    ASSERT_EQ(all.times_ms.empty(), pruned.plans.empty());
    for (std::size_t i = 0; i < std::min<std::size_t>(3, all.times_ms.size()); ++i) {
        EXPECT_EQ(pruned.plans[i].summary.step_time_ms, all.times_ms[i]) << i;
    }
    EXPECT_EQ(front_of(pruned), all.front);
    request.exhaustive = true;
    const SearchResult exhaustive = search(request);
    EXPECT_EQ(told(exhaustive), told(pruned));
    EXPECT_EQ(exhaustive.pruned, 0);
    EXPECT_EQ(exhaustive.evaluated, pruned.evaluated + pruned.pruned);
}

TEST_P(SmallSpace, DoesNotDependOnThreads) {
    SearchRequest request = test::random_search(GetParam());
    request.threads = 1;
    const SearchResult one = search(request);
    request.threads = 5;
    const SearchResult five = search(request);
    EXPECT_EQ(told(one), told(five));
    EXPECT_EQ(std::tie(one.evaluated, one.pruned, one.simulated, one.infeasible, one.front),
              std::tie(five.evaluated, five.pruned, five.simulated, five.infeasible, five.front));
}

}  // namespace
}  // namespace foreshard
