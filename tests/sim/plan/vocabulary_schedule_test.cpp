#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "sim/error.hpp"
#include "sim/plan/dry_run.hpp"
#include "sim/plan/schedule.hpp"
#include "sim/plan/schedule_csv.hpp"
#include "sim/plan/schedules.hpp"

/// Vocabulary-parallel 1F1B (arXiv 2411.05288): lists, in-flight counts, closed form of the makespan, and faults.
namespace foreshard {
namespace {

PassCosts vocabulary_costs(int stages, Picoseconds f, Picoseconds b, Picoseconds s, Picoseconds t) {
    PassCosts costs{std::vector<StageTimes::Stage>(static_cast<std::size_t>(stages), {f, b / 2, b - b / 2}), 0};
    costs.vocab_forward = s;
    costs.vocab_backward = t;
    return costs;
}

/// Micro-batches in flight beyond 1F1B's p - r.
int extra_in_flight(VocabularySplit split, int p) {
    switch (split) {
        case VocabularySplit::two_barriers:
            return 2;
        case VocabularySplit::one_barrier:
            return 1;
        case VocabularySplit::interlaced:
            return p / 2;
    }
    return 0;
}

std::string vocabulary_row(const Schedule& schedule, int rank) {
    std::string text;
    for (const Action& a : schedule.actions[rank]) text += (text.empty() ? "" : " ") + to_string(a);
    return text;
}

/// p, m, split
class Vocabulary : public testing::TestWithParam<std::tuple<int, int, VocabularySplit>> {
protected:
    int p = std::get<0>(GetParam());
    int m = std::get<1>(GetParam());
    VocabularySplit split = std::get<2>(GetParam());
    Schedule schedule = vocabulary_schedule(p, m, split);
};

TEST_P(Vocabulary, IsValid) {
    EXPECT_EQ(find_fault(schedule), "");
}

TEST_P(Vocabulary, HoldsAFewMoreMicrobatchesThan1F1B) {
    const DryRun run = dry_run(schedule, vocabulary_costs(p, 4, 8, 1, 2));
    for (int r = 0; r < p; ++r) {
        EXPECT_EQ(run.peak_in_flight[r], std::min(m, p - r + extra_in_flight(split, p))) << "rank " << r;
    }
}

/// The bubble is that of 1F1B without vocabulary layers, whatever these take.
TEST_P(Vocabulary, AddsOnlyItsOwnWorkTo1F1B) {
    for (const auto& [s, t] : {std::pair{0, 0}, {1, 2}, {3, 1}, {4, 8}, {40, 80}}) {
        const DryRun run = dry_run(schedule, vocabulary_costs(p, 4, 8, s, t));
        EXPECT_EQ(run.makespan, (m + p - 1) * 12 + m * (s + t)) << "s " << s << " t " << t;
    }
}

TEST_P(Vocabulary, RanksMeetInOneOrder) {
    const DryRun run = dry_run(schedule, vocabulary_costs(p, 4, 8, 1, 2));
    const bool one = split == VocabularySplit::one_barrier;
    EXPECT_EQ(run.meetings.size(), static_cast<std::size_t>(one ? 2 : 3) * m);
    EXPECT_TRUE(std::is_sorted(run.meetings.begin(), run.meetings.end(),
                               [](const Meeting& a, const Meeting& b) { return a.key < b.key; }));
}

std::string case_name(const testing::TestParamInfo<Vocabulary::ParamType>& info) {
    constexpr const char* names[] = {"TwoBarriers", "OneBarrier", "Interlaced"};
    const auto [p, m, split] = info.param;
    return "p" + std::to_string(p) + "m" + std::to_string(m) + names[static_cast<int>(split)];
}

INSTANTIATE_TEST_SUITE_P(Shapes, Vocabulary,
                         testing::Combine(testing::Values(2, 3, 4, 5, 8, 16),
                                          testing::Values(1, 2, 3, 4, 5, 7, 8, 9, 10, 16, 17, 33),
                                          testing::Values(VocabularySplit::two_barriers, VocabularySplit::one_barrier,
                                                          VocabularySplit::interlaced)),
                         case_name);

TEST(VocabularySchedule, TwoBarriersOnTwoRanks) {
    const Schedule schedule = vocabulary_schedule(2, 4, VocabularySplit::two_barriers);
    EXPECT_EQ(vocabulary_row(schedule, 0), "0F0 0F1 0S0 0F2 0T0 0S1 0F3 0T1 0S2 0B0 0T2 0S3 0B1 0T3 0B2 0B3");
    EXPECT_EQ(vocabulary_row(schedule, 1), "1F0 1S0 1F1 1T0 1S1 1F2 1B0 1T1 1S2 1F3 1B1 1T2 1S3 1B2 1T3 1B3");
}

TEST(VocabularySchedule, OneBarrierLeavesTheLastWeightGradientToTheEnd) {
    const Schedule schedule = vocabulary_schedule(2, 3, VocabularySplit::one_barrier);
    EXPECT_EQ(vocabulary_row(schedule, 0), "0F0 0F1 0S0 0F2 0T0 0S1 0B0 0T1 0S2 0B1 0B2 0T2");
    EXPECT_EQ(vocabulary_row(schedule, 1), "1F0 1S0 1F1 1B0 1T0 1S1 1F2 1B1 1T1 1S2 1B2 1T2");
}

TEST(VocabularySchedule, AllRanksRunSAndTBetweenTheLastForwardAndTheFirstBackward) {
    const Schedule schedule = vocabulary_schedule(2, 1, VocabularySplit::two_barriers);
    const DryRun run = dry_run(schedule, vocabulary_costs(2, 4, 8, 1, 2));
    EXPECT_EQ(vocabulary_row(schedule, 1), "1F0 1S0 1T0 1B0");
    EXPECT_EQ(run.start[1], (std::vector<Picoseconds>{4, 8, 9, 11}));
    EXPECT_EQ(run.start[0], (std::vector<Picoseconds>{0, 8, 9, 19}));
}

TEST(VocabularySchedule, OneBarrierListsDeadlockUnderTwo) {
    Schedule schedule = vocabulary_schedule(3, 6, VocabularySplit::one_barrier);
    schedule.vocabulary = VocabularySplit::two_barriers;
    EXPECT_NE(find_fault(schedule).find("deadlock"), std::string::npos);
}

TEST(VocabularySchedule, FaultsAreNamed) {
    const Schedule valid = vocabulary_schedule(2, 2, VocabularySplit::two_barriers);
    const auto fault_after = [&](auto change) {
        Schedule schedule = valid;
        change(schedule.actions[0]);
        return find_fault(schedule);
    };
    const auto at = [](std::vector<Action>& list, Pass pass) {
        return std::find_if(list.begin(), list.end(), [&](const Action& a) { return a.pass == pass; });
    };
    EXPECT_NE(
        fault_after([&](auto& list) { list.erase(at(list, Pass::vocab_backward)); }).find("0T0 is missing on rank 0"),
        std::string::npos);
    EXPECT_NE(fault_after([&](auto& list) { at(list, Pass::vocab_forward)->stage = 1; }).find("share 1 is on rank 1"),
              std::string::npos);
    EXPECT_NE(fault_after([&](auto& list) {
                  std::swap(*at(list, Pass::vocab_forward), *at(list, Pass::vocab_backward));
              }).find("0T0 comes before its S"),
              std::string::npos);
    Schedule unsplit = valid;
    unsplit.vocabulary.reset();
    EXPECT_NE(find_fault(unsplit).find("only a vocabulary-parallel schedule"), std::string::npos);
}

TEST(VocabularySchedule, SurvivesAFile) {
    for (const VocabularySplit split :
         {VocabularySplit::two_barriers, VocabularySplit::one_barrier, VocabularySplit::interlaced}) {
        const Schedule schedule = vocabulary_schedule(4, 7, split);
        ScheduleShape shape{.ranks = 4, .microbatches = 7, .chunks = 1, .placement = std::nullopt, .vocabulary = split};
        const Schedule again = parse_schedule_csv("a.csv", to_csv(schedule), shape);
        EXPECT_EQ(again.actions, schedule.actions);
        EXPECT_EQ(again.stages, 4);
        EXPECT_EQ(again.stage_rank, schedule.stage_rank);
        shape.vocabulary.reset();
        EXPECT_THROW(parse_schedule_csv("a.csv", to_csv(schedule), shape), InputError);
    }
}

/// p, m
class VHalfVocabulary : public testing::TestWithParam<std::tuple<int, int>> {
protected:
    int p = std::get<0>(GetParam());
    int m = std::get<1>(GetParam());
    Schedule schedule = v_half_vocabulary_schedule(p, m, unit_costs(2 * p));
};

TEST_P(VHalfVocabulary, IsValid) {
    EXPECT_EQ(find_fault(schedule), "");
}

TEST_P(VHalfVocabulary, HoldsFourChunksMoreThanVHalf) {
    const DryRun run = dry_run(schedule, unit_costs(2 * p));
    const int peak = *std::max_element(run.peak_in_flight.begin(), run.peak_in_flight.end());
    EXPECT_LE(peak, std::min(2 * m, 2 * ((p + 2) / 2) + 4));
    if (m >= 2 * p && p > 2) {
        EXPECT_EQ(peak, 2 * ((p + 2) / 2) + 4);
    }
}

Picoseconds bubble(const Schedule& schedule, Picoseconds s, Picoseconds t) {
    PassCosts costs = unit_costs(schedule.stages);
    costs.vocab_forward = s;
    costs.vocab_backward = t;
    return dry_run(schedule, costs).makespan - schedule.microbatches * (6 + s + t);
}

/// Four more chunks in flight let it squeeze further than V-Half.
TEST_P(VHalfVocabulary, BubbleIsAtMostThatOfVHalf) {
    if (m >= 2 * p) {
        EXPECT_LE(bubble(schedule, 0, 0), bubble(v_half_schedule(p, m), 0, 0));
    }
    if (m >= 2 * p && p >= 8 && p % 2 == 0) {
        EXPECT_EQ(bubble(schedule, 0, 0), 3 * p - 11);
    }
    EXPECT_LE(bubble(schedule, 0, 0), 6 * (p - 1));
}

TEST_P(VHalfVocabulary, VocabularyPassesAddNoMoreThanTheirWork) {
    EXPECT_LE(bubble(schedule, 1, 2), bubble(schedule, 0, 0));
}

/// With other times, too, a micro-batch more costs what it does in V-Half, and its vocabulary passes.
TEST_P(VHalfVocabulary, SteadyStateIsThatOfVHalf) {
    const int first = std::max(m, 2 * p);  // from there on the pipeline is full
    const PassCosts costs{std::vector<StageTimes::Stage>(static_cast<std::size_t>(2 * p), {93, 129, 62}), 0, 6, 9};
    constexpr int more = 8;
    const auto shared = [&](int n) { return dry_run(v_half_vocabulary_schedule(p, n, costs), costs).makespan; };
    const auto plain = [&](int n) { return dry_run(v_half_schedule(p, n), costs).makespan; };
    EXPECT_LE(shared(first + more) - shared(first), plain(first + more) - plain(first) + more * (6 + 9));
}

INSTANTIATE_TEST_SUITE_P(Shapes, VHalfVocabulary,
                         testing::Combine(testing::Values(2, 3, 4, 5, 6, 7, 8, 16, 24),
                                          testing::Values(1, 2, 3, 5, 8, 16, 33, 64)));

}  // namespace
}  // namespace foreshard
