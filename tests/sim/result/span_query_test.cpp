#include "sim/result/span_query.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "sim/engine/evaluate.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/runs.hpp"

/// Queries against answers found by looking at every span.
namespace foreshard {
namespace {

class SpanQuery : public testing::TestWithParam<std::uint64_t> {
protected:
    const SpanTable spans_ = test::random_spans(GetParam(), 3, 40);
};
INSTANTIATE_TEST_SUITE_P(Seeds, SpanQuery, testing::Range(std::uint64_t{1}, std::uint64_t{9}));

bool lies_in(const SpanTable& spans, std::size_t s, Picoseconds begin, Picoseconds end) {
    const bool stands_in = spans.start[s] == spans.end[s] && spans.start[s] >= begin && spans.start[s] < end;
    return stands_in || (spans.start[s] < end && spans.end[s] > begin && spans.start[s] < spans.end[s]);
}

TEST_P(SpanQuery, FindsExactlyTheSpansOfAWindow) {
    for (const SpanRow& row : spans_.rows) {
        for (Picoseconds begin = -5; begin < spans_.finish + 10; begin += 7) {
            for (const Picoseconds length : {1, 13, 200}) {
                const SpanRange range = visible_spans(spans_, row, begin, begin + length);
                for (std::size_t s = row.first; s < row.last; ++s) {
                    const bool found = s >= range.first && s < range.last;
                    // A span of no length between two visible ones is taken along.
                    EXPECT_EQ(found, lies_in(spans_, s, begin, begin + length))
                        << s << ": " << spans_.start[s] << " to " << spans_.end[s] << " in " << begin << " + "
                        << length;
                }
            }
        }
        EXPECT_TRUE(visible_spans(spans_, row, 50, 50).empty());
    }
}

TEST_P(SpanQuery, HitsASpanOrAGapAtEveryTime) {
    for (std::size_t r = 0; r < spans_.rows.size(); ++r) {
        const SpanRow& row = spans_.rows[r];
        for (Picoseconds time = 0; time < spans_.finish; ++time) {
            const auto span = span_at(spans_, row, time);
            const auto gap = gap_at(spans_, r, time);
            ASSERT_NE(span.has_value(), gap.has_value()) << time;
            if (span) {
                EXPECT_LE(spans_.start[*span], time);
                EXPECT_GT(spans_.end[*span], time);
                EXPECT_EQ(row_of(spans_, *span), r);
            } else {
                EXPECT_LE(gap->begin, time);
                EXPECT_GT(gap->end, time);
            }
        }
        EXPECT_FALSE(gap_at(spans_, r, -1));
        EXPECT_FALSE(gap_at(spans_, r, spans_.finish));
    }
}

TEST_P(SpanQuery, SpansAndGapsFillEveryRow) {
    for (std::size_t r = 0; r < spans_.rows.size(); ++r) {
        Picoseconds total = 0;
        for (const Gap& gap : row_gaps(spans_, r)) {
            EXPECT_GT(gap.length(), 0);
            EXPECT_EQ(gap_at(spans_, r, gap.begin), gap);
            EXPECT_EQ(gap_at(spans_, r, gap.end - 1), gap);
            total += gap.length();
        }
        const AreaTotals all = area_totals(spans_, r, r, spans_.begin, spans_.finish + 1);
        EXPECT_EQ(all.bubble, total);
        EXPECT_EQ(all.spans, spans_.rows[r].last - spans_.rows[r].first);
        for (const Picoseconds time : all.time) total += time;
        EXPECT_EQ(total, spans_.finish - spans_.begin);
    }
}

TEST_P(SpanQuery, TotalsOfPartsSumToTheTotalOfTheWhole) {
    const Picoseconds middle = spans_.finish / 3;
    const AreaTotals whole = area_totals(spans_, 0, 2, -10, spans_.finish + 10);
    const AreaTotals left = area_totals(spans_, 0, 2, -10, middle);
    const AreaTotals right = area_totals(spans_, 0, 2, middle, spans_.finish + 10);
    EXPECT_EQ(left.bubble + right.bubble, whole.bubble);
    for (std::size_t k = 0; k < whole.time.size(); ++k) EXPECT_EQ(left.time[k] + right.time[k], whole.time[k]);
    EXPECT_EQ(whole.compute_rows, 3);
}

TEST_P(SpanQuery, WalksARowByItsNeighbours) {
    for (const SpanRow& row : spans_.rows) {
        EXPECT_FALSE(previous_span(spans_, row.first));
        EXPECT_FALSE(next_span(spans_, row.last - 1));
        for (std::size_t s = row.first; s + 1 < row.last; ++s) {
            EXPECT_EQ(next_span(spans_, s), s + 1);
            EXPECT_EQ(previous_span(spans_, s + 1), s);
        }
    }
}

TEST_P(SpanQuery, SortsGapsByLength) {
    const std::vector<Gap> gaps = gaps_by_length(spans_);
    std::size_t all = 0;
    for (std::size_t r = 0; r < spans_.rows.size(); ++r) all += row_gaps(spans_, r).size();
    EXPECT_EQ(gaps.size(), all);
    for (std::size_t i = 1; i < gaps.size(); ++i) EXPECT_GE(gaps[i - 1].length(), gaps[i].length());
}

/// p = 3, forward 10, backward 20, hop 1. 1F1B: the last stage waits for F0, then alternates; PP0's B0 comes back after
/// both others.
TEST(WaitChain, OfPipelineGapLeadsToTheLastStage) {
    const foreshard::Run run = test::run_of(test::timed_job(ScheduleKind::one_f_one_b, 3, 3, 1, 10, 20, 0, 1));
    const SpanTable& spans = run.spans;
    // F0 of PP0, then PP1, PP2; B0 on PP2 ends at 52, on PP1 at 73: PP0 has done F0 F1 F2 by 30.
    const auto gap = gap_at(spans, 0, 31);
    ASSERT_TRUE(gap);
    EXPECT_EQ(gap->begin, 30);
    EXPECT_EQ(gap->end, 74);
    std::vector<std::string> names;
    for (const std::size_t span : wait_chain(spans, *gap)) names.push_back(span_name(spans, span));
    ASSERT_GE(names.size(), 5U);
    EXPECT_EQ(names[0], "receive 0B0");
    EXPECT_EQ(names[1], "send 0B0");
    EXPECT_EQ(names[2], "1B0");
    EXPECT_EQ(gap_text(spans, *gap).find("PP0 waits"), 0U) << gap_text(spans, *gap);
    EXPECT_NE(gap_text(spans, *gap).find("1B0 on PP1"), std::string::npos) << gap_text(spans, *gap);
}

class WaitChains : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, WaitChains, testing::Range(std::uint64_t{1}, std::uint64_t{13}));

/// A chain goes back in time without holes until the begin of the gap: each starts when the next one ends, or together
/// with it. Only communication that waits for a coordinator's cycle leaves holes.
TEST_P(WaitChains, ExplainTheirWholeGap) {
    const Evaluation e = evaluate(test::any_plan(GetParam()));
    const auto waits = [](const CommClass& c) { return c.wait.value > 0.0; };
    if (std::any_of(e.graph.comm_classes.begin(), e.graph.comm_classes.end(), waits)) GTEST_SKIP() << "has cycles";
    const SpanTable spans = make_spans(e.graph, e.timeline);
    for (const Gap& gap : gaps_by_length(spans)) {
        if (!gap.after || !cause_of(spans, *gap.after)) continue;
        Picoseconds at = gap.end;
        for (const std::size_t span : wait_chain(spans, gap)) {
            const bool together = spans.end[span] > at && spans.start[span] == at;
            EXPECT_TRUE(together || spans.end[span] == at) << gap_text(spans, gap) << " " << span_name(spans, span);
            at = spans.start[span];
        }
        EXPECT_LE(at, gap.begin) << gap_text(spans, gap);
        EXPECT_EQ(gap_text(spans, gap).find("not known"), std::string::npos);
    }
}

TEST_P(WaitChains, UsersAreInputsTheOtherWayRound) {
    const SpanTable spans = test::any_run(GetParam()).spans;
    const SpanUsers users = users_of(spans);
    ASSERT_EQ(users.users.size(), spans.inputs.size());
    for (std::size_t s = 0; s < spans.size(); ++s) {
        for (std::uint32_t i = users.first[s]; i < users.first[s + 1]; ++i) {
            const std::vector<std::size_t> inputs = inputs_of(spans, users.users[i]);
            EXPECT_NE(std::find(inputs.begin(), inputs.end(), s), inputs.end());
        }
    }
}

/// Three ranks meet in one communication: 5, 9 and 7 long.
TEST(CommSplits, WaitIsWhatExceedsTheShortest) {
    SpanTable spans;
    spans.start = {4, 0, 2, 0};
    spans.end = {9, 9, 9, 3};
    spans.kind = {SpanKind::p2p, SpanKind::p2p, SpanKind::p2p, SpanKind::forward};
    spans.comm = {1, 1, 1, -1};
    const std::vector<CommSplit> splits = comm_splits(spans);
    EXPECT_EQ(splits[0].wait, 0);
    EXPECT_EQ(splits[1].wait, 4);
    EXPECT_EQ(splits[2].wait, 2);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(splits[static_cast<std::size_t>(i)].transfer, 5);
    EXPECT_EQ(splits[2].participants, 3);
    EXPECT_EQ(splits[3].transfer, 0);
}

}  // namespace
}  // namespace foreshard
