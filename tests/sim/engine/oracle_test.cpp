#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"
#include "tests/support/jobs.hpp"

/// Action lists made by other code, with their makespans, through --schedule-file and --stage-times.
/// The tables are not part of the repository; without FORESHARD_DATA the tests say so and skip.
namespace foreshard {
namespace {

using nlohmann::json;

constexpr double picoseconds_per_unit = 8000.0;

/// `fused`: the pairs that the table names become one cell, "0F3&1B0".
std::string csv_of(const json& line, bool fused) {
    std::string text;
    for (std::size_t r = 0; r < line["actions"].size(); ++r) {
        const json& rank = line["actions"][r];
        std::set<std::size_t> pairs;
        if (fused) pairs = line["overlap_pairs"][r].get<std::set<std::size_t>>();
        for (std::size_t i = 0; i < rank.size(); ++i) {
            if (i > 0) text += pairs.count(i - 1) > 0 ? "&" : ",";
            text += rank[i].get<std::string>();
        }
        text += "\n";
    }
    return text;
}

Picoseconds units(double value) {
    return std::llround(value * picoseconds_per_unit);
}

/// Cost sets of the table: constants, or set H that varies with the stage.
StageTimes times_of(const json& costs, int stages) {
    StageTimes times;
    for (int s = 0; s < stages; ++s) {
        const bool by_stage = costs["set"] == "H";
        const double f = by_stage ? 1.0 + (s % 3) / 4.0 : costs["F"].get<double>();
        const double i = by_stage ? 1.25 + (s % 2) / 4.0 : costs["I"].get<double>();
        const double w = by_stage ? 0.75 : costs["W"].get<double>();
        times.stages.push_back({units(f), units(i), units(w)});
    }
    times.hop = units(costs["comm"].get<double>());
    return times;
}

std::vector<json> lines_of(const std::string& file) {
    std::vector<json> lines;
    std::ifstream in(test::data_folder() + "/" + file);
    std::string line;
    while (std::getline(in, line)) lines.push_back(json::parse(line));
    return lines;
}

JobRequest request_of(const json& line, bool fused = false) {
    const int p = line["p"];
    JobRequest request = test::tiny_request(p, line["m"].get<int>());
    request.schedule_file = ScheduleFile{"oracle.csv", csv_of(line, fused), true};
    const std::string placement = line["placement"].get<std::string>();
    request.placement = placement.substr(0, placement.find_first_of(": "));
    request.vpp = line["v"].get<int>();
    request.overlap_p2p = true;
    return request;
}

TEST(Oracle, MakespansOfOtherCodesAreReproduced) {
    if (test::data_folder().empty()) GTEST_SKIP() << "FORESHARD_DATA is not set: no oracle tables";
    const std::vector<json> lines = lines_of("schedule_oracles.jsonl");
    ASSERT_GE(lines.size(), 1000U);
    std::size_t checked = 0;
    for (const json& line : lines) {
        for (const json& result : line["results"]) {
            JobRequest request = request_of(line);
            request.stage_times = times_of(result, line["stages"].get<int>());
            const Evaluation e = evaluate(test::valid_job(request));
            const double makespan = static_cast<double>(e.timeline.step_time()) / picoseconds_per_unit;
            EXPECT_NEAR(makespan, result["makespan"].get<double>(), 2e-6) << line["schedule"] << line["p"] << line["m"];
            EXPECT_NEAR(e.report.summary.bubble_ratio, result["bubble_ratio"].get<double>(), 2e-6);
            EXPECT_NEAR(e.report.summary.bubble_over_ideal_ratio, result["bubble_over_ideal"].get<double>(), 2e-6);
            ++checked;
            if (!result.contains("makespan_pairs_fused")) continue;
            JobRequest pairs = request_of(line, true);
            pairs.stage_times = times_of(result, line["stages"].get<int>());
            const Evaluation joined = evaluate(test::valid_job(pairs));
            EXPECT_NEAR(static_cast<double>(joined.timeline.step_time()) / picoseconds_per_unit,
                        result["makespan_pairs_fused"].get<double>(), 2e-6)
                << line["schedule"] << line["p"] << line["m"];
        }
    }
    EXPECT_GE(checked, 5000U);
}

TEST(Oracle, ListsThatCannotRunAreRefused) {
    if (test::data_folder().empty()) GTEST_SKIP() << "FORESHARD_DATA is not set: no oracle tables";
    int refused = 0;
    for (const json& line : lines_of("schedule_negative_oracles.jsonl")) {
        JobRequest request = request_of(line);
        StageTimes times;
        times.stages.assign(line["stages"].get<std::size_t>(), {1, 1, 1});
        request.stage_times = times;
        if (line["expect"] == "valid") {
            EXPECT_EQ(evaluate(test::valid_job(request)).timeline.step_time(), line["makespan"].get<Picoseconds>());
            continue;
        }
        const auto run = [&] {
            const Job job = resolve(request);
            if (check(job).empty())
                evaluate(job);
            else
                throw InputError("job", "", check(job).front().rule);
        };
        EXPECT_THROW(run(), InputError) << line["name"];
        ++refused;
    }
    EXPECT_GE(refused, 20);
}

/// Replays measured pass times of one 8-GPU host (sail-sg/VocabularyParallelism, artifact/exp_one_host.csv).
TEST(Oracle, MeasuredStageTimesGiveTheMeasuredIteration) {
    if (test::data_folder().empty()) GTEST_SKIP() << "FORESHARD_DATA is not set: no published runs";
    int rows = 0;
    for (const json& row : lines_of("published/training.jsonl")) {
        const std::string id = row["id"];
        if (id.rfind("vocabpar-csv-base_", 0) != 0 && id.rfind("vocabpar-csv-redis_", 0) != 0) continue;
        const json& extra = row["extra"];
        JobRequest request = test::tiny_request(8, row["plan"]["num_microbatches"].get<int>());
        request.schedule = "1f1b";
        StageTimes times;
        for (std::size_t s = 0; s < 8; ++s) {
            const auto backward = static_cast<Picoseconds>(extra["stage_backward_us"][s].get<double>() * 1e6);
            times.stages.push_back(
                {static_cast<Picoseconds>(extra["stage_forward_us"][s].get<double>() * 1e6), backward, 0});
        }
        request.stage_times = times;
        request.num_layers = row["model"]["layers"].get<int>();
        std::string layout;
        for (const json& layers : row["norm"]["layers_per_stage"]) {
            layout += (layout.empty() ? "" : ",") + std::to_string(layers.get<int>());
        }
        request.layout = layout;
        const Evaluation e = evaluate(test::valid_job(request));
        const double measured = row["measured"]["step_time_s"].get<double>() * 1e3;
        const double error = 100.0 * (e.report.summary.step_time_ms / measured - 1.0);
        EXPECT_GT(error, -2.0) << id;
        EXPECT_LT(error, 0.5) << id;
        ++rows;
    }
    EXPECT_EQ(rows, 16);
}

}  // namespace
}  // namespace foreshard
