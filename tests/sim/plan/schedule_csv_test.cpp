#include "sim/plan/schedule_csv.hpp"

#include <string>

#include <gtest/gtest.h>

#include "sim/error.hpp"

namespace foreshard {
namespace {

const std::string small = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";

Schedule parse(const std::string& text, const ScheduleShape& shape) {
    return parse_schedule_csv("a.csv", text, shape);
}

/// The message of the InputError, or "accepted".
std::string error_of(const std::string& text, const ScheduleShape& shape) {
    try {
        parse(text, shape);
        return "accepted";
    } catch (const InputError& error) {
        return error.what();
    }
}

void expect_error(const std::string& text, const ScheduleShape& shape, const std::string& part) {
    const std::string message = error_of(text, shape);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find("a.csv"), 0U) << message;
}

ScheduleShape ranks_only(int ranks) {
    return {ranks, std::nullopt, std::nullopt, std::nullopt};
}

TEST(ScheduleCsv, RoundTripsEverySchedule) {
    for (const Schedule& schedule : {naive_schedule(3, 4), gpipe_schedule(4, 2), one_f_one_b_schedule(4, 8),
                                     interleaved_schedule(4, 8, 3, 4), gradient_accumulation(3)}) {
        const Schedule read = parse(to_csv(schedule), ranks_only(schedule.ranks));
        EXPECT_EQ(read.actions, schedule.actions);
        EXPECT_EQ(read.stage_rank, schedule.stage_rank);
        EXPECT_EQ(read.chunks, schedule.chunks);
        EXPECT_EQ(read.stages, schedule.stages);
        EXPECT_EQ(read.microbatches, schedule.microbatches);
        EXPECT_TRUE(read.direction.empty());
    }
}

TEST(ScheduleCsv, ToleratesSpacesEmptyCellsCommentsAndCarriageReturns) {
    const std::string text = "\xEF\xBB\xBF# made by hand\r\n 0F0 ,0F1,, 0B0\t,0B1,\r\n\r\n1F0,1B0,,,1F1,1B1,,\r\n\n";
    EXPECT_EQ(parse(text, ranks_only(2)).actions, one_f_one_b_schedule(2, 2).actions);
}

TEST(ScheduleCsv, NeedsNoNewlineAtTheEnd) {
    EXPECT_EQ(parse("0F0,0B0\n1F0,1B0", ranks_only(2)).actions, one_f_one_b_schedule(2, 1).actions);
}

TEST(ScheduleCsv, ReadsFusedPairs) {
    const std::string text = "0F0,0F1,0B0,0B1\n1F0,1B0 & 1F1,1B1\n";
    const Schedule schedule = parse(text, ranks_only(2));
    EXPECT_TRUE(schedule.actions[1][1].fused_with_next);
    EXPECT_FALSE(schedule.actions[1][2].fused_with_next);
    EXPECT_EQ(to_csv(schedule), "0F0,0F1,0B0,0B1\n1F0,1B0&1F1,1B1\n");
    EXPECT_EQ(parse(to_csv(schedule), ranks_only(2)).actions, schedule.actions);
}

TEST(ScheduleCsv, ReadsThePlacementFromTheFile) {
    const Schedule v = parse("0F0,3F0,3I0,0I0,3W0,0W0\n1F0,2F0,2B0,1B0\n", ranks_only(2));
    EXPECT_EQ(v.stage_rank, stage_ranks(Placement::v, 2, 4));
    EXPECT_EQ(v.chunks, 2);
    const Schedule uneven = parse("0F0,1F0,1B0,0B0\n2F0,2B0\n", ranks_only(2));
    EXPECT_EQ(uneven.stage_rank, (std::vector{0, 0, 1}));
    EXPECT_EQ(uneven.chunks, 2);
}

// Two micro-batches that enter at opposite ends: each rank holds both stages.
TEST(ScheduleCsv, ReadsTwoDirections) {
    const std::string text = "0F0,1F1,1B1,0B0\n0F1,1F0,1B0,0B1\n";
    for (const auto& placement : {std::optional<Placement>(), std::optional(Placement::bidirectional)}) {
        for (const auto& chunks : {std::optional<int>(), std::optional(2)}) {
            const Schedule schedule = parse(text, {2, 2, chunks, placement});
            EXPECT_EQ(schedule.stages, 2);
            EXPECT_EQ(schedule.chunks, 2);
            EXPECT_EQ(schedule.direction, (std::vector<std::uint8_t>{0, 1}));
            EXPECT_EQ(schedule.stage_rank, (std::vector{0, 1, 1, 0}));
        }
    }
}

TEST(ScheduleCsv, CountsRanksStagesAndMicrobatches) {
    const ScheduleExtent extent = schedule_extent("a.csv", small + "# end\n");
    EXPECT_EQ(extent.ranks, 2);
    EXPECT_EQ(extent.stages, 2);
    EXPECT_EQ(extent.microbatches, 2);
}

TEST(ScheduleCsv, RefusesMalformedCellsAndNamesThem) {
    expect_error("0F0,0X0\n1F0,1B0\n", ranks_only(2), "at line 1, cell 2: '0X0': after the stage must come a pass");
    expect_error("0F0,0B0\n\n1F0,,B0\n", ranks_only(2), "at line 3, cell 3: 'B0': an action is stage, pass");
    expect_error("0F0,0B\n", ranks_only(1), "at line 1, cell 2: '0B': an action is");
    expect_error("0F0,0B0x\n", ranks_only(1), "'0B0x': nothing may follow");
    expect_error("0F0,0B-1\n", ranks_only(1), "'0B-1': an action is");
    expect_error("-1F0\n", ranks_only(1), "'-1F0': an action is");
    expect_error("0F0&,0B0\n", ranks_only(1), "'0F0&': an action is");
    expect_error("0f0,0b0\n", ranks_only(1), "'0f0': after the stage");
    expect_error("0F99999999999999999999,0B0\n", ranks_only(1), "numbers must be below");
    expect_error("2147483648F0\n", ranks_only(1), "numbers must be below");
    expect_error("0F0;0B0;0F1;0B1;0F2;0B2;0F3;0B3;0F4;0B4;0F5\n", ranks_only(1), "...'");
}

TEST(ScheduleCsv, RefusesEmptyAndHugeFiles) {
    expect_error("", ranks_only(1), "has no actions");
    expect_error("# nothing\n,,\n", ranks_only(1), "has no actions");
    EXPECT_THROW(parse(std::string((16U << 20) + 1, ','), ranks_only(1)), InputError);
    EXPECT_THROW(schedule_extent("a.csv", std::string((16U << 20) + 1, ',')), InputError);
}

TEST(ScheduleCsv, RefusesAnotherNumberOfRanks) {
    expect_error(small, ranks_only(3), "has 2 lines of actions, but pp is 3");
}

TEST(ScheduleCsv, ChecksTheBatch) {
    expect_error(small, {2, 1, std::nullopt, std::nullopt},
                 "at line 1, cell 2: 0F1 on rank 0: micro-batch 1 is out of");
    expect_error(small, {2, 3, std::nullopt, std::nullopt}, "at line 1: 0F2 is missing");
}

TEST(ScheduleCsv, ChecksTheChunks) {
    expect_error(small, {2, 2, 2, std::nullopt}, "2F0 is missing");
    expect_error("0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0\n", {2, 1, 1, std::nullopt},
                 "at line 1, cell 2: 2F0 on rank 0: stage 2 is out of range");
}

TEST(ScheduleCsv, ChecksThePlacement) {
    expect_error("1F0,1B0\n0F0,0B0\n", {2, 1, std::nullopt, Placement::linear},
                 "at line 1, cell 1: 1F0 on rank 0: wrong rank, stage 1 is on rank 1");
    const std::string v = "0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n";
    EXPECT_EQ(error_of(v, {2, 1, 2, Placement::v}), "accepted");
    expect_error(v, {2, 1, 2, Placement::loop}, "3F0 on rank 0: wrong rank, stage 3 is on rank 1");
    expect_error(v, {2, 1, std::nullopt, Placement::linear}, "stage 3 is out of range");
    expect_error(v, {2, 1, std::nullopt, Placement::bidirectional}, "out of range");
}

TEST(ScheduleCsv, RefusesThreeDirections) {
    expect_error("0F0,1F1,1B1,0B0\n0F1,1F0,1B0,0B1\n0F2,1F2,1B2,0B2\n", ranks_only(3),
                 "forward of stage 0 on ranks 0, 1 and 2");
}

TEST(ScheduleCsv, RefusesAStageOnTwoRanks) {
    expect_error("0F0,0F1,1F1,1B1,0B0,0B1\n1F0,1B0\n", ranks_only(2), "wrong rank, stage 1 is on rank");
}

TEST(ScheduleCsv, RefusesADeadlockAndMarksIt) {
    expect_error("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", ranks_only(2),
                 "at line 1, cell 2: deadlock: rank 0 waits at 0B0 for 1B0; rank 1 waits at 1F1 for 0F1");
    expect_error("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", ranks_only(2), "0B0 <-- ERROR HERE");
}

// Mistyped indices must not make tables of their size.
TEST(ScheduleCsv, RefusesHugeIndicesQuickly) {
    expect_error("0F0,0B0,0F1000000000,0B1000000000\n", ranks_only(1), "need at least");
    expect_error("0F0,0B0,1000000000F0,1000000000B0\n", ranks_only(1), "need at least");
    expect_error("0F0,0B0\n", {1, 2000000000, std::nullopt, std::nullopt}, "need at least");
}

TEST(ScheduleCsv, NamesTheStageThatNeverRuns) {
    expect_error("0F0,2F0,2B0,0B0\n", ranks_only(1), "1F0 is missing");
}

}  // namespace
}  // namespace foreshard
