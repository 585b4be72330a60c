#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/result/compare.hpp"
#include "sim/result/span_query.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/runs.hpp"
#include "traces/read_trace.hpp"

/// Traces as PyTorch's profiler writes them: two ranks, 1F1B of two micro-batches, forward 100 us, backward 200 us, a
/// message 4 us, three profiler steps; made by hand after Kineto's output.
namespace foreshard {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr Picoseconds us = 1'000'000;

std::string file_of(int rank) {
    return FORESHARD_SOURCE_DIR "/tests/golden/kineto-pp2-rank" + std::to_string(rank) + ".json";
}

foreshard::Run both_ranks() {
    return read_traces({file_of(0), file_of(1)});
}

Picoseconds of(const RankAccount& account, Account part) {
    return account[static_cast<std::size_t>(part)];
}

TEST(ReadKineto, FindsRanksStepsAndPasses) {
    const foreshard::Run run = both_ranks();
    ASSERT_EQ(run.spans.ranks.size(), 2U);
    EXPECT_EQ(run.spans.ranks[1].name, "PP1 (rank 1)");
    EXPECT_EQ(run.spans.ranks[1].pp, 1);
    EXPECT_EQ(run.step_time, 968 * us);
    EXPECT_THAT(run.notes, Contains(HasSubstr("6 profiler steps; figures are of the median of 4")));
    std::vector<std::string> names;
    const SpanRow& row = run.spans.rows.front();
    EXPECT_EQ(row.lane, SpanLane::compute);
    for (std::size_t s = row.first; s < row.last; ++s) {
        if (run.spans.start[s] >= run.spans.window_begin && run.spans.end[s] <= run.spans.window_end) {
            names.push_back(span_name(run.spans, s));
        }
    }
    EXPECT_THAT(names, testing::ElementsAre("0F0", "0F1", "0B0", "0B1", "optimizer", HasSubstr("reduce_kernel")));
}

TEST(ReadKineto, SplitsTheKernelsOfMessagesIntoWaitAndTransfer) {
    const foreshard::Run run = both_ranks();
    const RankAccount& first = run.accounts[0];
    EXPECT_EQ(of(first, Account::forward), 200 * us);
    EXPECT_EQ(of(first, Account::backward), 400 * us);
    EXPECT_EQ(of(first, Account::optimizer), 20 * us);
    EXPECT_EQ(of(first, Account::host), 5 * us);
    EXPECT_EQ(of(first, Account::exposed_dp), 30 * us);
    EXPECT_EQ(of(first, Account::exposed_pp), 8 * us);  // two gradients
    EXPECT_EQ(of(first, Account::bubble), (204 + 96 + 1 + 4) * us);
    int split = 0;
    const std::vector<CommSplit> splits = comm_splits(run.spans);
    for (std::size_t s = 0; s < run.spans.size(); ++s) {
        if (run.spans.kind[s] != SpanKind::p2p) continue;
        EXPECT_EQ(splits[s].participants, 2);
        EXPECT_EQ(splits[s].transfer, 4 * us);
        if (splits[s].wait > 0) ++split;
    }
    EXPECT_GT(split, 0);
}

TEST(ReadKineto, OneRankAloneSaysThatItCannotTellWaiting) {
    const foreshard::Run run = read_trace(file_of(0));
    EXPECT_EQ(of(run.accounts[0], Account::exposed_pp), (208 + 100) * us);
    EXPECT_THAT(run.notes, Contains(HasSubstr("whose other rank is not known")));
    EXPECT_THAT(both_ranks().notes, Not(Contains(HasSubstr("whose other rank is not known"))));
}

TEST(ReadKineto, TellsWhatItDoesNotDraw) {
    const foreshard::Run run = read_trace(file_of(0));
    EXPECT_THAT(run.notes,
                Contains(HasSubstr("not drawn, of CPU threads or other ranges: 1 Trace, 3 cpu_op, 3 cuda_")));
    EXPECT_THAT(run.notes, Contains(HasSubstr("4 events are instants, counters or arrows")));
    EXPECT_THAT(run.notes, Contains(HasSubstr("3 events are kernels outside of all passes")));
}

/// The same plan, simulated: every pass finds its partner, and starts as early.
TEST(ReadKineto, MatchesTheSimulationOfItsPlan) {
    const foreshard::Run simulated =
        test::run_of(test::timed_job(ScheduleKind::one_f_one_b, 2, 2, 1, 100 * us, 200 * us, 0, 4 * us), "simulated");
    const foreshard::Run measured = both_ranks();
    const Comparison c = compare(simulated, measured);
    int passes = 0;
    for (const SpanPair& pair : c.pairs) {
        if (simulated.spans.stage[pair.a] < 0 || simulated.spans.kind[pair.a] == SpanKind::p2p) continue;
        EXPECT_EQ(pair.level, MatchLevel::exact) << span_name(simulated.spans, pair.a);
        EXPECT_EQ(pair.late, 0) << span_name(simulated.spans, pair.a);
        EXPECT_EQ(pair.longer, 0);
        ++passes;
    }
    EXPECT_EQ(passes, 8);
}

}  // namespace
}  // namespace foreshard
