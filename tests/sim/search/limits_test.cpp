#include <gtest/gtest.h>

#include "sim/search/search.hpp"
#include "sim/search/text_search.hpp"
#include "sim/spec/request_text.hpp"
#include "tests/support/search_spaces.hpp"

/// Searches that end before all that could be better is simulated, and lists of plans that get long.
namespace foreshard {
namespace {

class Limited : public testing::TestWithParam<std::uint64_t> {
protected:
    /// Every third seed by energy, which bounds of the step time alone do not order.
    Limited() : request(test::random_search(GetParam())) {
        request.threads = 1;
        if (GetParam() % 3 != 0) return;
        request.objective.kind = Objective::energy_per_token;
        request.objective.operation.gpu_idle_w = 90.0;
        request.objective.operation.gpu_busy_w = 700.0;
    }

    /// The best plan of all is no better than what was promised.
    void expect_promise_kept(const SearchOutcome& part, const SearchOutcome& all) const {
        ASSERT_FALSE(part.plans.empty());
        ASSERT_TRUE(part.gap_ratio);
        const double best = part.plans.front().objective_value;
        EXPECT_GE(all.plans.front().objective_value, best * (1.0 - *part.gap_ratio) * (1.0 - 1e-12));
        EXPECT_LE(part.simulated, all.simulated);
    }

    SearchRequest request;
};
INSTANTIATE_TEST_SUITE_P(Seeds, Limited, testing::Range(std::uint64_t{1}, std::uint64_t{13}));

TEST_P(Limited, TellsHowMuchBetterTheRestCouldBe) {
    const SearchOutcome all = search(request);
    EXPECT_TRUE(all.complete);
    EXPECT_EQ(all.gap_ratio, 0.0) << "nothing is left";
    double last = 1.0;
    for (const std::int64_t most : {1, 40, 100'000'000}) {
        request.max_simulated = most;
        const SearchOutcome part = search(request);
        expect_promise_kept(part, all);
        EXPECT_EQ(part.complete, part.simulated == all.simulated);
        EXPECT_LE(*part.gap_ratio, last) << "more plans leave less open";
        last = *part.gap_ratio;
    }
    EXPECT_EQ(last, 0.0);
}

TEST_P(Limited, StopsWhenTheRestIsNotWorthIt) {
    const SearchOutcome all = search(request);
    for (const double most : {0.2, 0.01, 0.0}) {
        request.max_gap_ratio = most;
        request.threads = 1;
        const SearchOutcome part = search(request);
        expect_promise_kept(part, all);
        EXPECT_LE(*part.gap_ratio, most);
        request.threads = 5;
        const SearchOutcome threads = search(request);
        EXPECT_EQ(test::plans_told(threads), test::plans_told(part)) << "threads change nothing";
        EXPECT_EQ(threads.gap_ratio, part.gap_ratio);
    }
    EXPECT_EQ(search(request).plans.front().objective_value, all.plans.front().objective_value);
}

/// Plans that wait are held against new ones in between: that costs nothing that is told.
TEST_P(Limited, LongListsAreTrimmedWithoutLoss) {
    const SearchOutcome all = search(request);
    request.trim_above = 20;
    const SearchOutcome trimmed = search(request);
    EXPECT_EQ(test::plans_told(trimmed), test::plans_told(all));
    EXPECT_EQ(trimmed.front, all.front);
    EXPECT_EQ(trimmed.evaluated + trimmed.pruned, all.evaluated + all.pruned);
}

TEST(Limits, AreSaidInWords) {
    EXPECT_EQ(gap_text(true, 0.0), "");
    EXPECT_EQ(gap_text(false, std::nullopt), "") << "stopped before bounds were known";
    EXPECT_EQ(gap_text(false, 0.0123).find("ended early: no plan is more than 1.2 % better"), 0U);
    EXPECT_EQ(gap_text(false, 0.0).find("ended early: no plan is better than the best one; other"), 0U);
}

}  // namespace
}  // namespace foreshard
