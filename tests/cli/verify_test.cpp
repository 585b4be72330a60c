#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"
#include "tests/support/schema.hpp"

// foreshard verify from end to end: what it ends with and what it writes, not how exact it is on a busy machine.

namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

using foreshard::test::Outcome;
using foreshard::test::read_file;

/// Two plans to calibrate on and two others, of a step of milliseconds.
constexpr const char* few_plans =
    "calibrate: --model gpt-tiny --num-layers 2 --seq-length 16 --gbs 2\n"
    "calibrate: --model gpt-tiny --num-layers 2 --seq-length 16 --pp 2 --gbs 2\n"
    "--model gpt-tiny --num-layers 2 --seq-length 16 --pp 2 --gbs 4\n"
    "--model gpt-tiny --num-layers 2 --seq-length 16 --dp 3 --gbs 6  # more ranks than small machines have cores\n";

class Verify : public foreshard::test::ProgramTest {
protected:
    Verify() : ProgramTest(FORESHARD_PROGRAM) {}

    std::string file(const std::string& name) const { return (folder_ / name).string(); }
    nlohmann::json json(const std::string& name) const { return nlohmann::json::parse(read_file(folder_ / name)); }
    std::string plans(const std::string& text) const {
        std::ofstream(folder_ / "plans.txt") << text;
        return "--plans '" + file("plans.txt") + "' ";
    }
    Outcome verify(const std::string& arguments, const std::string& launcher = "") const {
        return run("verify " + arguments, "ASAN_OPTIONS=detect_leaks=0 " + launcher);  // what MPI never frees
    }
};

int count(const nlohmann::json& rows, const std::string& status) {
    int number = 0;
    for (const nlohmann::json& row : rows) number += row.at("status") == status ? 1 : 0;
    return number;
}

void expect_whole(const nlohmann::json& row) {
    EXPECT_GT(row.at("measured").at("step_time_s"), 0.0) << row;
    EXPECT_GT(row.at("predicted").at("step_time_s"), 0.0) << row;
    EXPECT_TRUE(row.at("error_pct").contains("step_time")) << row;
    EXPECT_TRUE(row.contains("bubble_error_points")) << row;
    EXPECT_FALSE(row.at("ranks").empty()) << row;
}

TEST_F(Verify, ShortFormMeasuresCalibratesAndPredicts) {
    const Outcome outcome = verify("--short --json '" + file("v.json") + "' --plot '" + file("v.html") +
                                   "' --calibration-output '" + file("mine.json") + "'");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const nlohmann::json report = json("v.json");
    EXPECT_EQ(foreshard::test::violations("validation", report), "");
    const nlohmann::json& rows = report.at("rows");
    EXPECT_GE(count(rows, "calibration"), 1);
    EXPECT_LE(count(rows, "calibration"), 4);
    EXPECT_EQ(report.at("summary").at("step_time").at("rows"), count(rows, "ok"));
    for (const nlohmann::json& row : rows) {
        if (row.at("status") == "skipped") {
            EXPECT_FALSE(row.at("reason").empty());
        } else {
            expect_whole(row);
        }
    }
    EXPECT_THAT(read_file(folder_ / "v.html"), HasSubstr("<svg"));
    EXPECT_EQ(foreshard::test::violations("calibration", json("mine.json")), "");
    const Outcome again = run("simulate --calibration '" + file("mine.json") + "' --model gpt-tiny --gbs 2");
    EXPECT_EQ(again.code, 0) << again.err;
}

/// Steps, memory and bubbles of plans that are worth a look by themselves.
TEST_F(Verify, TakesOwnPlansAndTellsWhyOneIsMissing) {
    const Outcome outcome = verify(plans(few_plans) + "--rounds 2 --iterations 2 --json '" + file("v.json") +
                                   "' --plot '" + file("v.svg") + "'");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const nlohmann::json report = json("v.json");
    const nlohmann::json& rows = report.at("rows");
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows.at(0).at("status"), "calibration");
    EXPECT_EQ(rows.at(2).at("steps"), 4) << "two rounds of two steps";
    EXPECT_THAT(outcome.out, HasSubstr("* calibrated on"));
    EXPECT_THAT(outcome.err, HasSubstr("run 1 of"));
    EXPECT_THAT(read_file(folder_ / "v.svg"), HasSubstr("<g><title>"));
    for (const nlohmann::json& row : rows) {
        const bool skipped = row.at("status") == "skipped";
        EXPECT_EQ(skipped, row.contains("reason")) << row;
    }
}

/// Three plans to calibrate on give a band of whole steps. Flags of Megatron-LM are taken as foreshard-run takes them,
/// without a cluster.
TEST_F(Verify, PlansToCalibrateOnGiveABandOfSteps) {
    const std::string tiny = "--model gpt-tiny --num-layers 2 --seq-length 16 ";
    const Outcome outcome =
        verify(plans("calibrate: " + tiny + "--gbs 2\ncalibrate: " + tiny + "--gbs 4\ncalibrate: " + tiny +
                     "--gbs 6 --normalization LayerNorm\n" + tiny + "--gbs 3\n") +
               "--rounds 1 --iterations 3 --calibration-output '" + file("mine.json") + "' --json -");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const nlohmann::json calibration = json("mine.json");
    EXPECT_EQ(foreshard::test::violations("calibration", calibration), "");
    const nlohmann::json& step = calibration.at("uncertainty").at("step");
    EXPECT_EQ(step.at("points"), 3);
    EXPECT_LE(step.at("p10_ratio"), step.at("p90_ratio"));
    const std::string flags = "simulate --calibration '" + file("mine.json") + "' --model gpt-tiny --gbs 2 --json -";
    const nlohmann::json report = nlohmann::json::parse(run(flags).out);
    const double time = report.at("summary").at("step_time_ms");
    EXPECT_NEAR(report.at("summary").at("step_time_low_ms").get<double>() / time, step.at("p10_ratio"), 1e-9);
    EXPECT_NEAR(report.at("summary").at("step_time_high_ms").get<double>() / time, step.at("p90_ratio"), 1e-9);
}

/// As on a GPU, whose runs do not time their ops: kernels by themselves come first.
TEST_F(Verify, BenchmarksComeBeforeTheRuns) {
    const Outcome outcome =
        verify(plans(few_plans) + "--rounds 1 --iterations 2 --benchmark tiny --calibration-output '" +
               file("mine.json") + "' --json -");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("benchmarks of threads"));
    const nlohmann::json inputs = json("mine.json").at("inputs");
    const auto kind = [](const nlohmann::json& input) { return input.at("kind").get<std::string>(); };
    EXPECT_EQ(std::count_if(inputs.begin(), inputs.end(),
                            [&](const nlohmann::json& input) { return kind(input) == "foreshard.microbench"; }),
              1);
}

TEST_F(Verify, AThresholdThatIsMissedExitsWith5) {
    const Outcome outcome = verify(plans(few_plans) + "--rounds 1 --iterations 1 --fail-if 'rows>=0' --json -");
    EXPECT_EQ(outcome.code, 5);
    EXPECT_THAT(outcome.err, HasSubstr("--fail-if: rows>=0"));
    EXPECT_EQ(foreshard::test::violations("validation", nlohmann::json::parse(outcome.out)), "");
}

TEST_F(Verify, RefusesWhatItCannotDoBeforeAnythingRuns) {
    const struct {
        std::string arguments;
        const char* message;
        int code;
        const char* launcher = "";
    } cases[] = {
        {"--fail-if 'step_time_medain_abs_pct>5'", "did you mean step_time_", 2},
        {"--plot picture.png", "must end in .svg or .html", 2},
        {"--plans /no/such/plans", "/no/such/plans", 4},
        {"--comm pigeons", "no plan uses pigeons", 2},
        {plans("calibrate: --modle gpt-tiny\n--model gpt-tiny\n"), "did you mean --model", 2},
        {"--short", "is no program", 2, "FORESHARD_RUN=/no/such/foreshard-run "},
    };
    for (const auto& test : cases) {
        const Outcome outcome = verify(test.arguments, test.launcher);
        EXPECT_EQ(outcome.code, test.code) << test.arguments << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr(test.message)) << test.arguments;
    }
}

TEST_F(Verify, FlagsThatContradictTheModelAreToldWithTheirPlan) {
    const Outcome outcome = verify(plans("calibrate: --model gpt-tiny --normalization RMSNorm\n--model gpt-tiny\n"));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("'--model gpt-tiny --normalization RMSNorm': --normalization: "));
}

/// What foreshard-run says is told; when no plan is left to calibrate on, there is nothing to predict with.
TEST_F(Verify, TellsWhatARunFailedOf) {
    const Outcome outcome =
        verify(plans("calibrate: --model gpt-tiny --cp 2 --gbs 2\n--model gpt-tiny --gbs 2\n") + "--rounds 1");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("no plan to calibrate on ran to its end"));
}

/// Interrupted, it tells what was measured by then.
TEST_F(Verify, CtrlCEndsTheRunsAndTellsWhatThereIs) {
    const Outcome outcome = verify(plans(few_plans) + "--rounds 1 --iterations 3000 --json '" + file("v.json") + "'",
                                   "timeout --foreground --preserve-status -s INT 4 ");
    EXPECT_EQ(outcome.code, 130) << outcome.err;
    if (fs::exists(file("v.json"))) {
        EXPECT_EQ(foreshard::test::violations("validation", json("v.json")), "");
    } else {
        EXPECT_THAT(outcome.err, HasSubstr("interrupted"));
    }
}

}  // namespace
