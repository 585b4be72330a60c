#include "runtime/rank_lead.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/jobs.hpp"

/// What ranks wait for each other, from spans that are made up.
namespace foreshard::runtime {
namespace {

using std::chrono::microseconds;

/// Two pipeline ranks whose passes hold an op each, of 1000 us and what a function of rank, run and micro-batch adds.
class Runs {
public:
    Runs() : job_(made_job()), schedule_(make_schedule(job_)), graph_(lower(job_, schedule_)), ranks_(job_) {}

    Plan plan() const { return {job_, schedule_, graph_, ranks_}; }

    template <class More>
    Outcome outcome(int runs, More more) const {
        Outcome outcome;
        for (int rank = 0; rank < 2; ++rank) {
            RankRecord& record = outcome.ranks.emplace_back();
            record.rank = rank;
            for (int run = 0; run < runs; ++run) record.runs.push_back(run_of(rank, run, more));
        }
        return outcome;
    }

private:
    static Job made_job() { return foreshard::test::valid_job(foreshard::test::tiny_request(2, 4)); }

    template <class More>
    RunRecord run_of(int rank, int run, More more) const {
        RunRecord record;
        const TaskRange range = tasks_of(graph_, rank);
        record.spans.first_task = range.first;
        Clock::time_point now{microseconds(1)};
        for (std::int32_t id = range.first; id < range.last; ++id) {
            const Clock::time_point start = now;
            const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
            if (task.kind == TaskKind::pass) {
                now += microseconds(1000 + more(rank, run, task.microbatch));
                record.ops.add({0, -1, start, now}, std::nullopt);
            }
            record.spans.spans.push_back({start, start, now});
        }
        return record;
    }

    Job job_;
    Schedule schedule_;
    TaskGraph graph_;
    Ranks ranks_;
};

int sign(int number) {
    return number % 2 == 0 ? 1 : -1;
}

TEST(MiddleRuns, AreTheMiddleHalfByWhatRanksComputed) {
    const Runs runs;
    const Outcome outcome = runs.outcome(9, [](int, int run, int) { return 100 * ((run * 4) % 9); });
    // In ascending order runs 0 7 5 3 1 8 6 4 2; two of nine are left out at each end.
    EXPECT_EQ(middle_runs(outcome), (std::vector<bool>{false, true, false, true, false, true, true, false, true}));
}

/// One rank 10 % above its mean and the other 10 % below, in turns: half the difference is 10 %, after a pass and after
/// a run. Of eight runs four are left, whose own means take away a share: sqrt(4 / 3) makes up for it.
TEST(RankLead, IsThatOfWholeRunsWhereRanksAreSlowerAllTheTime) {
    const Runs runs;
    const RankLeads leads =
        rank_leads(runs.plan(), runs.outcome(8, [](int rank, int run, int) { return 100 * sign(rank) * sign(run); }));
    ASSERT_TRUE(leads.pass && leads.step);
    EXPECT_NEAR(leads.pass->ratio, 0.1 * std::sqrt(4.0 / 3.0), 1e-12);
    EXPECT_NEAR(leads.step->ratio, leads.pass->ratio, 1e-12);
    EXPECT_NEAR(leads.pass->after_ms, 1.0, 1e-12);
    EXPECT_NEAR(leads.step->after_ms, 8.0, 1e-12) << "four forward and four backward passes";
}

/// What a pass loses the next one wins: ranks are apart after a pass, and together again after a run.
TEST(RankLead, IsNothingAfterARunWherePassesMakeUpForEachOther) {
    const Runs runs;
    const RankLeads leads = rank_leads(runs.plan(), runs.outcome(8, [](int rank, int run, int microbatch) {
        return 100 * sign(rank) * sign(run) * sign(microbatch);
    }));
    ASSERT_TRUE(leads.pass && leads.step);
    EXPECT_NEAR(leads.pass->ratio, 0.1 * std::sqrt(4.0 / 3.0), 1e-12);
    EXPECT_NEAR(leads.step->ratio, 0.0, 1e-12);
}

TEST(RankLead, NeedsTwoRunsAndRecordedOps) {
    const Runs runs;
    const auto none = [](int, int, int) { return 0; };
    EXPECT_FALSE(rank_leads(runs.plan(), runs.outcome(1, none)).pass);
    Outcome unrecorded = runs.outcome(4, none);
    for (RankRecord& rank : unrecorded.ranks) {
        for (RunRecord& run : rank.runs) run.ops = {};
    }
    EXPECT_FALSE(rank_leads(runs.plan(), unrecorded).step);
}

}  // namespace
}  // namespace foreshard::runtime
