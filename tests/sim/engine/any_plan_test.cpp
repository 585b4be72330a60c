#include <numeric>

#include <gtest/gtest.h>

#include "sim/json_report.hpp"
#include "tests/support/jobs.hpp"

/// Properties of every schedule under every data-parallel scheme that go together.
namespace foreshard {
namespace {

class AnyPlan : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, AnyPlan, testing::Range(std::uint64_t{1}, std::uint64_t{161}));

TEST_P(AnyPlan, AccountsAndMemoryAddUpAndTheBoundHolds) {
    const Job job = test::any_plan(GetParam());
    const Evaluation e = evaluate(job);
    const std::string plan = std::string(to_string(job.plan.schedule)) + " " +
                             std::string(to_string(job.plan.data_parallel)) + " zero " +
                             std::to_string(job.plan.zero_stage);
    EXPECT_GT(e.timeline.step_time(), 0) << plan;
    for (const RankReport& rank : e.report.ranks) {
        const Picoseconds total = std::accumulate(rank.account.begin(), rank.account.end(), Picoseconds{0});
        EXPECT_EQ(total, e.timeline.step_time()) << plan << ", rank " << rank.pp_rank;
        for (const Picoseconds part : rank.account) EXPECT_GE(part, 0) << plan;
        const RankMemory& m = rank.memory;
        EXPECT_EQ(m.states.total() + m.activations + m.buffers, m.peak) << plan;
        for (const MemoryPoint& point : m.points) EXPECT_GE(point.activations, 0) << plan;
        EXPECT_TRUE(e.graph.asynchronous || m.points.back().activations == 0) << plan;
    }
    EXPECT_TRUE(!e.report.estimate || e.report.estimate->gap_ratio >= -1e-12) << plan << " " << e.report.estimate->form;
    EXPECT_EQ(report_json(e, {}), report_json(evaluate(job), {})) << plan;
}

}  // namespace
}  // namespace foreshard
