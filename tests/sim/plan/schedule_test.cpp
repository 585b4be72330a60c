#include "sim/plan/schedule.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "sim/plan/dry_run.hpp"

namespace foreshard {
namespace {

/// Costs of forward f and full backward b, every stage alike, in whole picoseconds; b is split as evenly as it can be.
PassCosts even_costs(int stages, Picoseconds f, Picoseconds b, Picoseconds hop = 0) {
    return {std::vector<StageTimes::Stage>(static_cast<std::size_t>(stages), {f, b / 2, b - b / 2}), hop};
}

Picoseconds makespan(const Schedule& schedule, const PassCosts& costs) {
    return dry_run(schedule, costs).makespan;
}

std::string row(const Schedule& schedule, int rank) {
    std::string text;
    for (const Action& a : schedule.actions[rank]) text += (text.empty() ? "" : " ") + to_string(a);
    return text;
}

/// One rank's actions from text like row's, "&" after an action that is fused with the next.
std::vector<Action> list(const std::string& text) {
    std::vector<Action> actions;
    std::istringstream in(text);
    Action action;
    for (char pass = 0; in >> action.stage >> pass >> action.microbatch;) {
        for (const Pass known : {Pass::forward, Pass::backward, Pass::input_grad, Pass::weight_grad}) {
            if (letter(known) == pass) action.pass = known;
        }
        action.fused_with_next = in.peek() == '&';
        if (action.fused_with_next) in.get();
        actions.push_back(action);
    }
    return actions;
}

/// p, m, (f, b)
using Shape = std::tuple<int, int, std::pair<int, int>>;

std::string shape_name(const testing::TestParamInfo<Shape>& info) {
    const auto [p, m, costs] = info.param;
    return "p" + std::to_string(p) + "m" + std::to_string(m) + "f" + std::to_string(costs.first) + "b" +
           std::to_string(costs.second);
}

class OneChunk : public testing::TestWithParam<Shape> {
protected:
    int p = std::get<0>(GetParam());
    int m = std::get<1>(GetParam());
    Picoseconds f = std::get<2>(GetParam()).first;
    Picoseconds b = std::get<2>(GetParam()).second;
    PassCosts costs = even_costs(p, f, b);
};

TEST_P(OneChunk, NaiveHasOneMicrobatchInThePipelineAtATime) {
    const DryRun run = dry_run(naive_schedule(p, m), costs);
    EXPECT_EQ(run.makespan, Picoseconds{p} * m * (f + b));
    EXPECT_EQ(run.peak_in_flight, std::vector<int>(p, 1));
}

TEST_P(OneChunk, GpipeTakesOneTurnPerMicrobatchAndRank) {
    const DryRun run = dry_run(gpipe_schedule(p, m), costs);
    EXPECT_EQ(run.makespan, (m + p - 1) * (f + b));
    EXPECT_EQ(run.peak_in_flight, std::vector<int>(p, m));
}

TEST_P(OneChunk, GpipePaysTheLatencyOncePerHopAndDirection) {
    const Picoseconds c = 7;
    EXPECT_EQ(makespan(gpipe_schedule(p, m), even_costs(p, f, b, c)),
              (m + p - 1) * (f + b) + Picoseconds{2} * (p - 1) * c);
}

TEST_P(OneChunk, OneFOneBTakesGpipesTimeWithFewerMicrobatchesInFlight) {
    const DryRun run = dry_run(one_f_one_b_schedule(p, m), costs);
    EXPECT_EQ(run.makespan, (m + p - 1) * (f + b));
    for (int r = 0; r < p; ++r) EXPECT_EQ(run.peak_in_flight[r], std::min(m, p - r)) << "rank " << r;
}

TEST_P(OneChunk, SchedulesAreValid) {
    for (const Schedule& schedule : {naive_schedule(p, m), gpipe_schedule(p, m), one_f_one_b_schedule(p, m)}) {
        EXPECT_EQ(find_fault(schedule), "") << schedule.name;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Schedule, OneChunk,
    testing::Combine(testing::Values(1, 2, 3, 4, 5, 7, 8, 13, 16), testing::Values(1, 2, 3, 4, 5, 7, 8, 9, 16, 31),
                     testing::Values(std::pair(1, 1), std::pair(1, 2), std::pair(2, 3), std::pair(5, 4))),
    shape_name);

/// Megatron's rule for group sizes: p <= N <= m, and the last group is full or no shorter than p.
bool admitted(int p, int m, int group) {
    return p <= group && group <= m && (m % group == 0 || m % group >= p);
}

class Interleaved : public testing::TestWithParam<Shape> {
protected:
    int p = std::get<0>(GetParam());
    int m = std::get<1>(GetParam());
    Picoseconds f = std::get<2>(GetParam()).first;
    Picoseconds b = std::get<2>(GetParam()).second;

    template <class Check>
    void for_each_admitted(Check check) const {
        for (int v = 2; v <= 5; ++v) {
            for (int group = p; group <= m; ++group) {
                if (!admitted(p, m, group)) continue;
                SCOPED_TRACE("v=" + std::to_string(v) + " group=" + std::to_string(group));
                check(v, group, interleaved_schedule(p, m, v, group));
            }
        }
    }
};

TEST_P(Interleaved, BubbleIsOneTurnOfAChunkPerRank) {
    for_each_admitted([&](int v, int, const Schedule& schedule) {
        EXPECT_EQ(makespan(schedule, even_costs(p * v, f, b)), (Picoseconds{m} * v + p - 1) * (f + b));
    });
}

TEST_P(Interleaved, PeakFollowsFromTheWarmup) {
    for_each_admitted([&](int v, int group, const Schedule& schedule) {
        const DryRun run = dry_run(schedule, unit_costs(p * v));
        for (int r = 0; r < p; ++r) {
            EXPECT_EQ(run.peak_in_flight[r], std::min(m * v, 2 * (p - 1 - r) + (v - 1) * group + 1)) << "rank " << r;
        }
    });
}

TEST_P(Interleaved, SchedulesAreValid) {
    for_each_admitted([&](int, int, const Schedule& schedule) { EXPECT_EQ(find_fault(schedule), ""); });
}

INSTANTIATE_TEST_SUITE_P(Schedule, Interleaved,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 8),
                                          testing::Values(1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24),
                                          testing::Values(std::pair(1, 1), std::pair(1, 2), std::pair(4, 3))),
                         shape_name);

TEST(Schedule, GradientAccumulationAlternatesOnOneRank) {
    const Schedule schedule = gradient_accumulation(3);
    EXPECT_EQ(row(schedule, 0), "0F0 0B0 0F1 0B1 0F2 0B2");
    EXPECT_EQ(schedule.ranks, 1);
    EXPECT_EQ(find_fault(schedule), "");
}

TEST(Schedule, OneFOneBListsAreMegatrons) {
    const Schedule schedule = one_f_one_b_schedule(3, 4);
    EXPECT_EQ(row(schedule, 0), "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
    EXPECT_EQ(row(schedule, 1), "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3");
    EXPECT_EQ(row(schedule, 2), "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3");
}

TEST(Schedule, InterleavedListsAreMegatrons) {
    const Schedule schedule = interleaved_schedule(2, 4, 2, 2);
    EXPECT_EQ(row(schedule, 0), "0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3");
    EXPECT_EQ(row(schedule, 1), "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3");
    EXPECT_EQ(schedule.chunks, 2);
    EXPECT_EQ(schedule.stages, 4);
}

TEST(Schedule, InterleavedWithOneChunkIsOneFOneB) {
    EXPECT_EQ(interleaved_schedule(4, 8, 1, 4).actions, one_f_one_b_schedule(4, 8).actions);
}

// A last group shorter than p leaves the late ranks waiting for forwards behind their own backwards.
TEST(Schedule, InterleavedWithAShortLastGroupCanDeadlock) {
    const std::string fault = find_fault(interleaved_schedule(4, 5, 3, 4));
    EXPECT_NE(fault.find("rank 0 waits at 8F4"), std::string::npos) << fault;
    EXPECT_NE(fault.find("rank 1 waits at 9F4"), std::string::npos) << fault;
    EXPECT_NE(fault.find("rank 2 waits at 10F4"), std::string::npos) << fault;
    EXPECT_NE(fault.find("rank 3 waits at 7B0 for 8B0"), std::string::npos) << fault;
    EXPECT_THROW(validate(interleaved_schedule(4, 5, 3, 4)), std::logic_error);
    EXPECT_THROW(dry_run(interleaved_schedule(4, 5, 3, 4), unit_costs(12)), std::logic_error);
    EXPECT_EQ(makespan(interleaved_schedule(4, 5, 2, 4), even_costs(8, 1, 2)), 48);
}

TEST(Schedule, PlacementsFollowTheirDefinition) {
    EXPECT_EQ(stage_ranks(Placement::linear, 3, 3), (std::vector{0, 1, 2}));
    EXPECT_EQ(stage_ranks(Placement::loop, 2, 6), (std::vector{0, 1, 0, 1, 0, 1}));
    EXPECT_EQ(stage_ranks(Placement::v, 3, 6), (std::vector{0, 1, 2, 2, 1, 0}));
    EXPECT_EQ(stage_ranks(Placement::snake, 2, 8), (std::vector{0, 1, 1, 0, 0, 1, 1, 0}));
}

Job job_with(ScheduleKind kind, int pp, int vpp, std::int64_t microbatches) {
    Job job;
    job.plan.dp = 2;
    job.plan.pp = pp;
    job.plan.vpp = vpp;
    job.plan.schedule = kind;
    job.gpus = 2 * pp;
    job.micro_batch = 3;
    job.global_batch = microbatches * 6;
    return job;
}

TEST(MakeSchedule, FollowsThePlan) {
    EXPECT_EQ(make_schedule(job_with(ScheduleKind::none, 1, 1, 5)).actions, gradient_accumulation(5).actions);
    EXPECT_EQ(make_schedule(job_with(ScheduleKind::naive, 4, 1, 5)).actions, naive_schedule(4, 5).actions);
    EXPECT_EQ(make_schedule(job_with(ScheduleKind::gpipe, 4, 1, 5)).actions, gpipe_schedule(4, 5).actions);
    EXPECT_EQ(make_schedule(job_with(ScheduleKind::one_f_one_b, 4, 1, 5)).actions, one_f_one_b_schedule(4, 5).actions);
    EXPECT_EQ(make_schedule(job_with(ScheduleKind::interleaved, 4, 3, 8)).actions,
              interleaved_schedule(4, 8, 3, 4).actions);
}

TEST(MakeSchedule, TakesTheGroupSize) {
    Job job = job_with(ScheduleKind::interleaved, 2, 2, 6);
    job.plan.microbatch_group_size = 3;
    EXPECT_EQ(make_schedule(job).actions, interleaved_schedule(2, 6, 2, 3).actions);
}

TEST(MakeSchedule, ReadsAFileInPlaceOfTheNamedSchedule) {
    Job job = job_with(ScheduleKind::gpipe, 2, 1, 2);
    job.schedule_file = ScheduleFile{"order.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", true};
    EXPECT_EQ(make_schedule(job).actions, one_f_one_b_schedule(2, 2).actions);
}

struct BadSchedule {
    const char* name;
    std::vector<std::vector<Action>> actions;
    int microbatches;
    const char* reason;  ///< a part of it
    int rank;
    int index;
};

std::string fault_name(const testing::TestParamInfo<BadSchedule>& info) {
    return info.param.name;
}

class FindFault : public testing::TestWithParam<BadSchedule> {};

TEST_P(FindFault, NamesTheRuleAndThePlace) {
    const BadSchedule& bad = GetParam();
    Schedule schedule{.name = "bad",
                      .ranks = 2,
                      .stages = 2,
                      .microbatches = bad.microbatches,
                      .actions = bad.actions,
                      .stage_rank = {0, 1},
                      .direction = {}};
    const auto fault = locate_fault(schedule);
    ASSERT_TRUE(fault.has_value());
    EXPECT_NE(fault->reason.find(bad.reason), std::string::npos) << fault->reason;
    EXPECT_EQ(fault->rank, bad.rank);
    EXPECT_EQ(fault->index, bad.index);
    EXPECT_NE(find_fault(schedule).find("<-- ERROR HERE"), std::string::npos);
}

const std::vector<Action> good = list("1F0 1B0");

INSTANTIATE_TEST_SUITE_P(
    Schedule, FindFault,
    testing::Values(
        BadSchedule{"StageOutOfRange", {list("2F0"), good}, 1, "stage 2 is out of range", 0, 0},
        BadSchedule{"MicrobatchOutOfRange",
                    {list("0F0 0B0"), list("1F0 1B0 1F1 1B1")},
                    1,
                    "1F1 on rank 1: micro-batch 1 is out of range",
                    1,
                    2},
        BadSchedule{"WrongRank",
                    {list("1F0 1B0"), list("0F0 0B0")},
                    1,
                    "1F0 on rank 0: wrong rank, stage 1 is on rank 1",
                    0,
                    0},
        BadSchedule{"Duplicate", {list("0F0 0F0 0B0"), good}, 1, "0F0 on rank 0: duplicate", 0, 1},
        BadSchedule{"ForwardMissing", {list("0B0"), good}, 1, "0F0 is missing on rank 0", 0, 0},
        BadSchedule{"MicrobatchMissing", {list("0F0 0B0"), good}, 2, "0F1 is missing on rank 0", 0, 2},
        BadSchedule{"BackwardMissing", {list("0F0"), good}, 1, "0B0 is missing on rank 0 (or I and W)", 0, 1},
        BadSchedule{"InputGradMissing", {list("0F0 0W0"), good}, 1, "0I0 is missing on rank 0", 0, 1},
        BadSchedule{"WeightGradMissing", {list("0F0 0I0"), good}, 1, "0W0 is missing on rank 0", 0, 1},
        BadSchedule{"FullAndSplit", {list("0F0 0I0 0B0 0W0"), good}, 1, "full backward B and a split one", 0, 2},
        BadSchedule{"BackwardBeforeForward", {list("0B0 0F0"), good}, 1, "runs B before F", 0, 0},
        BadSchedule{"InputGradBeforeForward", {list("0I0 0F0 0W0"), good}, 1, "runs I before F", 0, 0},
        BadSchedule{"WeightGradBeforeInputGrad", {list("0F0 0W0 0I0"), good}, 1, "runs W before I", 0, 1},
        BadSchedule{"FusedWithNothing", {list("0F0 0B0&"), good}, 1, "fused with the next", 0, 1},
        BadSchedule{"FusedWithItsOwnInput", {list("0F0 0B0"), list("1F0&1B0")}, 1, "rank 1 waits at 1F0 for 1F0", 0, 1},
        BadSchedule{"CrossWait",
                    {list("0F0 0B0 0F1 0B1"), list("1F0 1F1 1B0 1B1")},
                    2,
                    "deadlock: rank 0 waits at 0B0 for 1B0; rank 1 waits at 1F1 for 0F1",
                    0,
                    1}),
    fault_name);

TEST(FindFaultText, MarksTheFaultInTheGrid) {
    Schedule schedule = one_f_one_b_schedule(2, 2);
    schedule.actions[1][2].microbatch = 0;
    EXPECT_EQ(find_fault(schedule),
              "1F0 on rank 1: duplicate, action 1 of the rank is the same\n"
              "rank 0: 0F0 0F1 0B0 0B1\n"
              "rank 1: 1F0 1B0 1F0 <-- ERROR HERE 1B1\n");
}

TEST(FindFaultText, ShowsOnlyThePartAroundTheFault) {
    Schedule schedule = one_f_one_b_schedule(64, 1024);
    schedule.actions[30][1000] = schedule.actions[30][998];
    const std::string text = find_fault(schedule);
    EXPECT_LT(text.size(), 2500U);
    EXPECT_NE(text.find("<-- ERROR HERE"), std::string::npos);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 8 + 2);
}

TEST(DryRun, FusedBackwardReleasesItsGradientAtItsEnd) {
    // Split: rank 0 gets the gradient after f + i of rank 1. Fused: after f + i + w.
    Schedule split{.name = "split",
                   .ranks = 2,
                   .stages = 2,
                   .microbatches = 1,
                   .actions = {list("0F0 0B0"), list("1F0 1I0 1W0")},
                   .stage_rank = {0, 1},
                   .direction = {}};
    const PassCosts costs{{{10, 20, 30}, {10, 20, 30}}, 1};
    EXPECT_EQ(dry_run(split, costs).start[0][1], 10 + 1 + 10 + 20 + 1);
    EXPECT_EQ(dry_run(one_f_one_b_schedule(2, 1), costs).start[0][1], 10 + 1 + 10 + 50 + 1);
}

TEST(DryRun, FusedPairStartsWithBothInputsAndReleasesBothAtItsEnd) {
    // Rank 1 runs F1&B0 as one unit: both ranks' next passes see its end.
    Schedule schedule{.name = "fused",
                      .ranks = 2,
                      .stages = 2,
                      .microbatches = 2,
                      .actions = {list("0F0 0F1 0B0 0B1"), list("1F0 1B0&1F1 1B1")},
                      .stage_rank = {0, 1},
                      .direction = {}};
    const DryRun run = dry_run(schedule, {{{2, 1, 1}, {1, 1, 1}}, 0});
    EXPECT_EQ(run.start[1], (std::vector<Picoseconds>{2, 4, 6, 7}));
    EXPECT_EQ(run.end[1], (std::vector<Picoseconds>{3, 6, 7, 9}));
    EXPECT_EQ(run.start[0][2], 7);
}

TEST(DryRun, MessagesHaveOneGlobalOrder) {
    const DryRun run = dry_run(one_f_one_b_schedule(2, 2), even_costs(2, 1, 2));
    std::string text;
    for (const Message& m : run.messages) {
        text += (m.forward ? "f" : "b") + std::to_string(m.to_stage) + "." + std::to_string(m.microbatch) + "@" +
                std::to_string(m.key) + ":" + std::to_string(m.from_rank) + ">" + std::to_string(m.to_rank) + " ";
    }
    EXPECT_EQ(text, "f1.0@1:0>1 f1.1@2:0>1 b0.0@4:1>0 b0.1@7:1>0 ");
}

TEST(DryRun, WeightGradientsKeepActivationsAlive) {
    Schedule schedule{.name = "split",
                      .ranks = 1,
                      .stages = 1,
                      .microbatches = 2,
                      .actions = {list("0F0 0I0 0F1 0I1 0W0 0W1")},
                      .stage_rank = {0},
                      .direction = {}};
    const DryRun run = dry_run(schedule, unit_costs(1));
    EXPECT_EQ(run.peak_in_flight, std::vector{2});
    EXPECT_EQ(run.peak_in_flight_to_input_grad, std::vector{1});
}

}  // namespace
}  // namespace foreshard
