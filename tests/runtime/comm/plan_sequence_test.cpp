#include "tests/runtime/comm/plan_sequence.hpp"

#include <algorithm>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/comm/message_groups.hpp"
#include "runtime/issue_order.hpp"
#include "tests/runtime/check_grid.hpp"
#include "tests/support/jobs.hpp"

/// What every plan would issue to NCCL, recorded rank by rank and held against its rules.
namespace foreshard::runtime {
namespace {

using testing::IsEmpty;

TEST(PlanSequence, EveryPlanOfTheCoveringSetKeepsTheRules) {
    int plans = 0;
    int calls = 0;
    int groups = 0;
    for (const GridPoint& point : covering_points(4000, 7)) {
        SCOPED_TRACE(to_string(point));
        test::PlanSequence recorded;
        EXPECT_THAT(test::sequence_faults(*job_of(point), &recorded), IsEmpty());
        ++plans;
        groups += recorded.groups;
        calls += recorded.calls();
    }
    RecordProperty("plans", plans);
    RecordProperty("calls", calls);
    RecordProperty("groups", groups);
    EXPECT_GT(plans, 50);
    EXPECT_GT(calls, 10000);
    EXPECT_GT(groups, 100);
}

/// A share of all plans of the grid, drawn by a seed; tests/runtime/full_grid.cpp looks at every one.
TEST(PlanSequence, PlansDrawnFromTheWholeGridKeepTheRules) {
    std::vector<GridPoint> points = full_grid();
    std::shuffle(points.begin(), points.end(), std::mt19937_64(2026));
    points.resize(150);
    int plans = 0;
    for (const GridPoint& point : points) {
        const std::optional<Job> job = job_of(point);
        if (!job) continue;
        EXPECT_THAT(test::sequence_faults(*job), IsEmpty()) << to_string(point);
        ++plans;
    }
    EXPECT_GT(plans, 60);
}

/// With f = 1 and a whole backward of 2, the second to last stage of 1F1B has done a forward when the last one has done
/// a backward: from the first backward to the last forward they exchange both in one group.
TEST(MessageGroups, SteadyStateOf1f1bSendsForwardAndReceivesBackwardTogether) {
    constexpr int m = 8;
    JobRequest request = foreshard::test::tiny_request(2, m);
    request.schedule = std::string("1f1b");
    const Job job = foreshard::test::valid_job(request);
    const TaskGraph graph = lower(job, make_schedule(job));
    const std::vector<std::int32_t> groups = message_groups(graph, issue_order(graph));
    int pairs = 0;
    for (std::size_t first = 0; first < groups.size(); ++first) {
        if (groups[first] < 0) continue;
        const Task& a = graph.tasks[first];
        const Task& b = graph.tasks[static_cast<std::size_t>(groups[first])];
        EXPECT_NE(a.kind, b.kind);
        EXPECT_NE(a.pass == Pass::forward, b.pass == Pass::forward);
        EXPECT_EQ(graph.stream_of(static_cast<std::int32_t>(first)).peer, graph.stream_of(groups[first]).peer);
        ++pairs;
    }
    EXPECT_EQ(pairs % 2, 0) << "both ranks group the same messages";
    EXPECT_GE(pairs / 2, m - 3);
}

/// A plan whose issue is spoiled must be found out, or the test above says nothing.
class SpoiledPlan : public testing::Test {
protected:
    SpoiledPlan() : job_(make_job()), schedule_(make_schedule(job_)), graph_(lower(job_, schedule_)), ranks_(job_) {
        sequence_ = test::record_sequence({job_, schedule_, graph_, ranks_}).sequence;
    }

    static Job make_job() {
        JobRequest request = foreshard::test::tiny_request(2, 4);
        request.gpus = 8;
        request.dp = 2;
        request.tp = 2;
        request.software = std::string("foreshard");
        request.precision = "fp32";
        request.overlap_grad_reduce = true;
        request.bucket_mb = 0.02;
        request.schedule = std::string("1f1b");
        return foreshard::test::valid_job(request);
    }

    Job job_;
    Schedule schedule_;
    TaskGraph graph_;
    Ranks ranks_;
    CallSequence sequence_;
};

/// Exchanging two neighbouring calls of a rank on different communicators that both wait for the same ranks.
TEST_F(SpoiledPlan, AnySwapOfNeighboursThatMattersIsFound) {
    ASSERT_THAT(broken_rules(sequence_), IsEmpty());
    int found = 0;
    for (std::size_t i = 1; i < sequence_.ranks[0].size(); ++i) {
        CallSequence spoiled = sequence_;
        std::swap(spoiled.ranks[0][i - 1], spoiled.ranks[0][i]);
        const auto& a = sequence_.communicators[static_cast<std::size_t>(sequence_.ranks[0][i - 1].communicator)];
        const auto& b = sequence_.communicators[static_cast<std::size_t>(sequence_.ranks[0][i].communicator)];
        const bool same_members =
            std::set(a.members.begin(), a.members.end()) == std::set(b.members.begin(), b.members.end());
        const bool grouped =
            sequence_.ranks[0][i].group >= 0 && sequence_.ranks[0][i].group == sequence_.ranks[0][i - 1].group;
        if (a == b || !same_members || grouped) continue;
        EXPECT_FALSE(broken_rules(spoiled).empty()) << "calls " << i - 1 << " and " << i;
        ++found;
    }
    EXPECT_GT(found, 0);
}

TEST_F(SpoiledPlan, AnyCallThatIsLeftOutIsFound) {
    for (std::size_t i = 0; i < sequence_.ranks[1].size(); i += 3) {
        CallSequence spoiled = sequence_;
        spoiled.ranks[1].erase(spoiled.ranks[1].begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_FALSE(broken_rules(spoiled).empty()) << "call " << i;
    }
}

TEST_F(SpoiledPlan, AnyOtherSizeIsFound) {
    for (std::size_t i = 0; i < sequence_.ranks[2].size(); i += 3) {
        CallSequence spoiled = sequence_;
        ++spoiled.ranks[2][i].call.count;
        EXPECT_FALSE(broken_rules(spoiled).empty()) << "call " << i;
    }
}

}  // namespace
}  // namespace foreshard::runtime
