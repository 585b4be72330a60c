#include "sim/result/spans.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "sim/engine/evaluate.hpp"
#include "sim/result/span_query.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/runs.hpp"

/// Spans of every schedule under every data-parallel scheme that go together.
namespace foreshard {
namespace {

class Spans : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, Spans, testing::Range(std::uint64_t{1}, std::uint64_t{31}));

void expect_rows_in_order(const SpanTable& spans) {
    std::size_t next = 0;
    for (std::size_t r = 0; r < spans.rows.size(); ++r) {
        const SpanRow& row = spans.rows[r];
        EXPECT_EQ(row.first, next);
        EXPECT_LT(row.first, row.last);
        next = row.last;
        for (std::size_t s = row.first + 1; s < row.last; ++s) EXPECT_LE(spans.end[s - 1], spans.start[s]) << row.name;
        if (r == 0) continue;
        const SpanRow& above = spans.rows[r - 1];
        EXPECT_LT(std::tie(above.rank, above.lane, above.overflow), std::tie(row.rank, row.lane, row.overflow));
    }
    EXPECT_EQ(next, spans.size());
}

TEST_P(Spans, FillTheirRowsInOrderAndDoNotOverlap) {
    const foreshard::Run run = test::any_run(GetParam());
    expect_rows_in_order(run.spans);
    ASSERT_EQ(run.spans.ranks.size(), run.accounts.size());
    ASSERT_EQ(run.spans.comm.size(), run.spans.size());
    for (std::size_t s = 0; s < run.spans.size(); ++s) EXPECT_LE(run.spans.start[s], run.spans.end[s]);
    for (const SpanRow& row : run.spans.rows) {
        EXPECT_TRUE(row.lane != SpanLane::compute || row.overflow == 0);  // a rank computes one thing at a time
    }
}

/// Inside the window, what a compute row leaves free is what the account calls bubble and waits. Only exposed time that
/// is part of tasks (of the optimizer under offloading, of fused updates) lies inside spans.
TEST_P(Spans, OfARankLeaveFreeWhatItsAccountCallsWaiting) {
    const Evaluation e = evaluate(test::any_plan(GetParam()));
    const SpanTable spans = make_spans(e.graph, e.timeline);
    const auto inside_tasks = [&](Spent spent) {
        const auto spends = [&](const WorkDuration& work) { return work.spent[static_cast<std::size_t>(spent)] > 0; };
        return std::any_of(e.timeline.works.begin(), e.timeline.works.end(), spends);
    };
    const bool exact = !inside_tasks(Spent::exposed_dp) && !inside_tasks(Spent::offload);
    for (std::size_t r = 0; r < spans.rows.size(); ++r) {
        if (spans.rows[r].lane != SpanLane::compute) continue;
        const RankAccount& account = e.report.ranks[static_cast<std::size_t>(spans.rows[r].rank)].account;
        const AreaTotals totals = area_totals(spans, r, r, spans.window_begin, spans.window_end);
        const Picoseconds busy = std::accumulate(totals.time.begin(), totals.time.end(), Picoseconds{0});
        EXPECT_TRUE(!exact || busy == busy_time(account)) << spans.rows[r].name << ": " << busy - busy_time(account);
        EXPECT_GE(busy, busy_time(account));
        EXPECT_LE(busy, e.timeline.step_time());
    }
}

/// Parts of a pass are rounded one by one here, as sums in the account: a picosecond each.
TEST_P(Spans, ShowRecomputationAndCollectivesAsLongAsTheAccount) {
    const Evaluation e = evaluate(test::any_plan(GetParam()));
    const SpanTable spans = make_spans(e.graph, e.timeline);
    for (std::size_t rank = 0; rank < spans.ranks.size(); ++rank) {
        const auto in_rank = [&](const SpanRow& row) { return row.rank == static_cast<int>(rank); };
        const auto first = std::find_if(spans.rows.begin(), spans.rows.end(), in_rank) - spans.rows.begin();
        const auto count = std::count_if(spans.rows.begin(), spans.rows.end(), in_rank);
        ASSERT_GT(count, 0);
        const AreaTotals totals =
            area_totals(spans, static_cast<std::size_t>(first), static_cast<std::size_t>(first + count - 1),
                        spans.window_begin, spans.window_end);
        const RankAccount& account = e.report.ranks[rank].account;
        const auto slack = static_cast<double>(totals.spans);
        const auto expect_equal = [&](SpanKind kind, Account entry) {
            EXPECT_NEAR(static_cast<double>(totals.time[static_cast<std::size_t>(kind)]),
                        static_cast<double>(account[static_cast<std::size_t>(entry)]), slack)
                << to_string(kind);
        };
        expect_equal(SpanKind::recompute, Account::recompute);
        expect_equal(SpanKind::tp, Account::exposed_tp);
        expect_equal(SpanKind::cp, Account::exposed_cp);
        expect_equal(SpanKind::ep, Account::exposed_ep);
    }
}

/// A receive runs together with its send; every other input is over when the span starts.
void expect_inputs_over(const SpanTable& spans) {
    for (std::size_t s = 0; s < spans.size(); ++s) {
        for (const std::size_t input : inputs_of(spans, s)) {
            const bool same_message = spans.comm[s] >= 0 && spans.comm[s] == spans.comm[input];
            if (same_message) {
                EXPECT_EQ(spans.start[input], spans.start[s]);
                EXPECT_EQ(spans.end[input], spans.end[s]);
            } else {
                EXPECT_LE(spans.end[input], spans.start[s])
                    << span_name(spans, s) << " waits for " << span_name(spans, input);
            }
        }
    }
}

TEST_P(Spans, StartWhenTheirInputsAreOver) {
    expect_inputs_over(test::any_run(GetParam()).spans);
}

/// Messages of a stream overtake nothing, but start while earlier ones are in flight: they need further rows.
TEST(SpansInFlight, StandInFurtherRows) {
    const SpanTable spans = test::run_of(test::timed_job(ScheduleKind::gpipe, 2, 8, 1, 10, 20, 0, 100)).spans;
    expect_rows_in_order(spans);
    expect_inputs_over(spans);
    const auto overflow = [](const SpanRow& row) { return row.overflow > 0 && row.lane == SpanLane::p2p; };
    EXPECT_TRUE(std::any_of(spans.rows.begin(), spans.rows.end(), overflow));
}

/// Nothing starts later than it must: a span that does not start with the run has an input that ends when it starts,
/// in flat networks where messages take no turns.
TEST_P(Spans, OfComputeHaveAnInputThatExplainsTheirStart) {
    const foreshard::Run run = test::any_run(GetParam());
    const SpanTable& spans = run.spans;
    for (const SpanRow& row : spans.rows) {
        if (row.lane != SpanLane::compute) continue;
        for (std::size_t s = row.first; s < row.last; ++s) {
            const auto cause = cause_of(spans, s);
            if (!cause) {
                EXPECT_EQ(s, row.first) << span_name(spans, s);
                continue;
            }
            EXPECT_EQ(spans.end[*cause], spans.start[s])
                << span_name(spans, s) << " after " << span_name(spans, *cause);
        }
    }
}

TEST_P(Spans, KnowTheirMicroBatchesAndNames) {
    const Evaluation e = evaluate(test::any_plan(GetParam()));
    const SpanTable spans = make_spans(e.graph, e.timeline);
    for (std::size_t s = 0; s < spans.size(); ++s) {
        const std::string task = task_name(e.graph, spans.task[s]);
        EXPECT_TRUE(span_name(spans, s).ends_with(task)) << span_name(spans, s) << " of " << task;
    }
}

}  // namespace
}  // namespace foreshard
