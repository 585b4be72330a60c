#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"
#include "sim/plan/dry_run.hpp"
#include "sim/plan/schedule.hpp"
#include "sim/plan/schedule_csv.hpp"
#include "tests/support/schedule_oracles.hpp"

namespace foreshard {
namespace {

using nlohmann::json;

using test::costs_of;
using test::csv_of;
using test::for_each_oracle;
using test::shape_of;

Picoseconds scaled(double value) {
    return test::oracle_time(value);
}

// A file's schedule has the reference's makespan under every cost set, and its peaks, whether the file is checked
// against its shape or the shape is read from it.
TEST(ScheduleOracle, DryRunsHaveTheReferenceTimesAndPeaks) {
    for_each_oracle("schedule_oracles.jsonl", [](const json& oracle) {
        const bool has_pairs = oracle.contains("overlap_pairs");
        const Schedule plain = parse_schedule_csv("oracle", csv_of(oracle, false), shape_of(oracle, true));
        const Schedule read = parse_schedule_csv("oracle", csv_of(oracle, false), shape_of(oracle, false));
        EXPECT_EQ(plain.actions, read.actions);
        EXPECT_EQ(plain.stage_rank, read.stage_rank);
        EXPECT_EQ(plain.direction, read.direction);
        EXPECT_EQ(plain.stages, oracle["stages"].get<int>());
        const std::string plain_csv = to_csv(plain);
        EXPECT_EQ(plain_csv, csv_of(oracle, false));
        for (const json& result : oracle["results"]) {
            const PassCosts costs = costs_of(result, plain.stages);
            const DryRun run = dry_run(plain, costs);
            EXPECT_EQ(run.makespan, scaled(result["makespan"])) << result;
            EXPECT_EQ(run.peak_in_flight, oracle["peak_inflight_per_rank"].get<std::vector<int>>());
            EXPECT_EQ(run.peak_in_flight_to_input_grad,
                      oracle["peak_inflight_until_I_per_rank"].get<std::vector<int>>());
            if (!has_pairs || !result.contains("makespan_pairs_fused")) continue;
            const Schedule fused = parse_schedule_csv("oracle", csv_of(oracle, true), shape_of(oracle, true));
            EXPECT_EQ(dry_run(fused, costs).makespan, scaled(result["makespan_pairs_fused"])) << result;
        }
    });
}

TEST(ScheduleOracle, BadListsAreRefusedAndSlowOnesAreNot) {
    for_each_oracle("schedule_negative_oracles.jsonl", [](const json& oracle) {
        const std::string csv = csv_of(oracle, false);
        const ScheduleShape shape = shape_of(oracle, true);
        if (oracle["expect"] == "valid") {
            const Schedule schedule = parse_schedule_csv("oracle", csv, shape);
            EXPECT_EQ(dry_run(schedule, unit_costs(schedule.stages)).makespan, oracle["makespan"].get<Picoseconds>());
            return;
        }
        try {
            parse_schedule_csv("oracle", csv, shape);
            FAIL() << "accepted";
        } catch (const InputError& error) {
            const bool deadlock = std::string(error.what()).find("deadlock") != std::string::npos;
            EXPECT_EQ(deadlock, oracle["expect"] == "deadlock") << error.what();
            EXPECT_NE(std::string(error.what()).find("<-- ERROR HERE"), std::string::npos) << error.what();
        }
    });
}

// Small shapes of published schedules, so that times are compared where the tables are not: ZB-H1, ZB-V, Chimera,
// Hanayo with one wave, and DualPipe with its fused pairs.
struct Sample {
    const char* name;
    const char* csv;
    int ranks;
    Picoseconds makespan;  ///< f = i = w = 1
    std::vector<int> peak;
};

std::string sample_name(const testing::TestParamInfo<Sample>& info) {
    return info.param.name;
}

class ScheduleSample : public testing::TestWithParam<Sample> {};

TEST_P(ScheduleSample, HasTheReferenceTimeAndPeaks) {
    const Sample& sample = GetParam();
    const Schedule schedule =
        parse_schedule_csv("sample", sample.csv, {sample.ranks, std::nullopt, std::nullopt, std::nullopt});
    const DryRun run = dry_run(schedule, unit_costs(schedule.stages));
    EXPECT_EQ(run.makespan, sample.makespan);
    EXPECT_EQ(run.peak_in_flight, sample.peak);
}

INSTANTIATE_TEST_SUITE_P(
    Schedule, ScheduleSample,
    testing::Values(
        Sample{"ZeroBubbleH1",
               "0F0,0F1,0I0,0W0,0I1,0W1\n1F0,1F1,1I0,1I1,1W0,1W1\n2F0,2I0,2F1,2I1,2W0,2W1\n",
               3,
               9,
               {2, 2, 2}},
        Sample{"ZeroBubbleV",
               "0F0,0F1,3F0,3I0,3W0,3F1,3I1,3W1,0I0,0W0,0I1,0W1\n1F0,2F0,1F1,2F1,2I0,2W0,1I0,1W0,2I1,2W1,1I1,1W1\n",
               2,
               14,
               {3, 4}},
        Sample{"Chimera",
               "0F0,0F1,3F2,3B2,3F3,3B3,0B0,0B1\n1F0,2F2,1F1,2F3,2B2,1B0,2B3,1B1\n"
               "1F2,2F0,1F3,2F1,2B0,1B2,2B1,1B3\n0F2,0F3,3F0,3B0,3F1,3B1,0B2,0B3\n",
               4,
               16,
               {3, 4, 4, 3}},
        Sample{"Hanayo", "0F0,0F1,3F0,3B0,3F1,3B1,0B0,0B1\n1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1\n", 2, 16, {3, 4}},
        Sample{
            "DualPipe", "0F0,1F2,0F1,1B2,1F3&0B0,1B3,0I1,0W1\n0F2,1F0,0F3,1B0,1F1&0B2,1B1,0I3,0W3\n", 2, 12, {3, 3}}),
    sample_name);

}  // namespace
}  // namespace foreshard
