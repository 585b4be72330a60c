#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"
#include "sim/plan/dry_run.hpp"
#include "sim/plan/schedule.hpp"
#include "sim/plan/schedule_csv.hpp"

namespace foreshard {
namespace {

using nlohmann::json;

/// Picoseconds of one oracle unit: divides by all fractions that the cost sets use.
constexpr double unit = 8000.0;

Picoseconds scaled(double value) {
    return std::llround(value * unit);
}

/// Calls use(line of the file); skips the test when the data is not there.
void for_each_oracle(const std::string& name, const std::function<void(const json&)>& use) {
    const char* data = std::getenv("FORESHARD_DATA");
    if (data == nullptr) GTEST_SKIP() << "FORESHARD_DATA is not set";
    std::ifstream file(std::string(data) + "/" + name);
    ASSERT_TRUE(file) << "cannot read " << name;
    int count = 0;
    for (std::string line; std::getline(file, line); ++count) {
        const json oracle = json::parse(line);
        const std::string schedule = oracle.contains("schedule") ? oracle["schedule"] : oracle["name"];
        SCOPED_TRACE(schedule + " p=" + oracle["p"].dump() + " m=" + oracle["m"].dump() + " v=" + oracle["v"].dump());
        use(oracle);
    }
    EXPECT_GT(count, 0);
    testing::Test::RecordProperty("lines", count);
}

/// The grid as CSV; pairs[r] lists indices whose action is fused with the next.
std::string csv_of(const json& oracle, bool fuse_pairs) {
    std::string text;
    for (std::size_t r = 0; r < oracle["actions"].size(); ++r) {
        const json& list = oracle["actions"][r];
        std::vector<bool> fused(list.size() + 1, false);
        if (fuse_pairs) {
            for (const json& i : oracle["overlap_pairs"][r]) fused[i.get<std::size_t>() + 1] = true;
        }
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (i > 0) text += fused[i] ? '&' : ',';
            text += list[i].get<std::string>();
        }
        text += '\n';
    }
    return text;
}

Placement placement_in(const std::string& text) {
    for (const Placement placement : {Placement::linear, Placement::loop, Placement::snake, Placement::bidirectional}) {
        const std::map<Placement, std::string> names{{Placement::linear, "linear"},
                                                     {Placement::loop, "loop"},
                                                     {Placement::snake, "snake"},
                                                     {Placement::bidirectional, "bidirectional"}};
        if (text.starts_with(names.at(placement))) return placement;
    }
    return Placement::v;
}

ScheduleShape shape_of(const json& oracle, bool checked) {
    ScheduleShape shape{oracle["p"], std::nullopt, std::nullopt, std::nullopt};
    if (!checked) return shape;
    shape.microbatches = oracle["m"].get<int>();
    shape.placement = placement_in(oracle["placement"]);
    if (shape.placement != Placement::bidirectional) {
        shape.chunks = oracle["stages"].get<int>() / oracle["p"].get<int>();
    }
    return shape;
}

PassCosts costs_of(const json& result, int stages) {
    PassCosts costs;
    costs.hop = scaled(result["comm"]);
    for (int s = 0; s < stages; ++s) {
        if (result["set"] == "H") {
            costs.stages.push_back({scaled(1 + (s % 3) / 4.0), scaled(1.25 + (s % 2) / 4.0), scaled(0.75)});
        } else {
            costs.stages.push_back({scaled(result["F"]), scaled(result["I"]), scaled(result["W"])});
        }
    }
    return costs;
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

/// Our own schedule for an oracle's shape, where we have one.
std::optional<Schedule> generated(const json& oracle) {
    const int p = oracle["p"];
    const int m = oracle["m"];
    const std::string name = oracle["schedule"];
    if (name == "naive") return naive_schedule(p, m);
    if (name == "gpipe" && oracle["backward_order"] == "ascending") return gpipe_schedule(p, m);
    if (name == "1f1b") return one_f_one_b_schedule(p, m);
    if (name == "interleaved_1f1b") return interleaved_schedule(p, m, oracle["v"], oracle["microbatch_group_size"]);
    return std::nullopt;
}

TEST(ScheduleOracle, GeneratorsGiveTheReferenceLists) {
    int compared = 0;
    for_each_oracle("schedule_oracles.jsonl", [&](const json& oracle) {
        const std::optional<Schedule> schedule = generated(oracle);
        if (!schedule) return;
        ++compared;
        EXPECT_EQ(to_csv(*schedule), csv_of(oracle, false));
    });
    RecordProperty("compared", compared);
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
