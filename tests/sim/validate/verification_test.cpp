#include "sim/validate/verification.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"
#include "sim/validate/json_validation.hpp"
#include "sim/validate/scatter_plot.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/schema.hpp"

namespace foreshard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ValidationRow own_row(const std::string& id, double measured_ms, double predicted_ms,
                      const std::string& comm = "threads") {
    ValidationRow row;
    row.id = id;
    row.source = "this machine";
    row.comm = comm;
    row.axis = "pp";
    row.steps = 20;
    row.measured_step_s = measured_ms / 1e3;
    row.predicted_step_s = predicted_ms / 1e3;
    row.measured_bubble_ratio = 0.20;
    row.predicted_bubble_ratio = 0.23;
    row.memory_kind = "allocated";
    row.measured_memory_bytes = 1000.0;
    row.predicted_memory_bytes = 1000.0;
    row.ranks = {{0, 1000, 1000}, {1, 800, 840}};
    return row;
}

Validation some_rows() {
    std::vector<ValidationRow> rows = {own_row("a", 100.0, 104.0), own_row("b", 200.0, 180.0, "mpi"),
                                       own_row("c & <d>", 50.0, 51.0), own_row("fitted", 100.0, 300.0),
                                       own_row("fitted too", 100.0, 100.0)};
    rows[3].status = rows[4].status = ValidationRow::Status::calibration;
    ValidationRow missing;
    missing.id = "left out";
    missing.comm = "mpi";
    missing.status = ValidationRow::Status::skipped;
    missing.reason = "no MPI";
    rows.push_back(missing);
    return summarised(std::move(rows));
}

TEST(Verification, CountsOnlyPlansThatWereNotCalibratedOn) {
    const Validation validation = some_rows();
    EXPECT_EQ(validation.summary.step_time.rows, 3);
    EXPECT_NEAR(validation.summary.step_time.max_abs_pct, 10.0, 1e-9);
    EXPECT_NEAR(validation.summary.step_time.median_abs_pct, 4.0, 1e-9);
    EXPECT_NEAR(validation.summary.bubble.max_abs_pct, 3.0, 1e-9);
    EXPECT_NEAR(validation.summary.memory.at("all").max_abs_pct, 5.0, 1e-9) << "of the rank that is furthest off";
    EXPECT_EQ(validation.by_comm.at("mpi").step_time.rows, 1);
    EXPECT_EQ(validation.by_axis.at("pp").step_time.rows, 3);
    const auto figures = verification_figures(validation);
    EXPECT_EQ(figures.at("rows"), 3.0);
    EXPECT_NEAR(figures.at("step_time_median_abs_pct"), 4.0, 1e-9);
    EXPECT_NEAR(figures.at("bubble_max_abs_points"), 3.0, 1e-9);
}

TEST(Verification, WritesItsRowsByTheSchema) {
    const nlohmann::json json = nlohmann::json::parse(validation_json(some_rows()));
    EXPECT_EQ(test::violations("validation", json), "");
    EXPECT_EQ(json.at("rows").at(3).at("status"), "calibration");
    EXPECT_EQ(json.at("rows").at(5).at("reason"), "no MPI");
    EXPECT_EQ(json.at("rows").at(1).at("ranks").at(1).at("predicted_memory_bytes"), 840);
    EXPECT_NEAR(json.at("rows").at(0).at("bubble_error_points").get<double>(), 3.0, 1e-9);
    EXPECT_NEAR(json.at("by_comm").at("mpi").at("step_time").at("bias_pct").get<double>(), -10.0, 1e-9);
}

TEST(Verification, TellsWhyAPlanIsMissingAndWhichWereCalibratedOn) {
    const std::string text = verification_text(some_rows());
    EXPECT_THAT(text, HasSubstr("no MPI"));
    EXPECT_THAT(text, HasSubstr("* fitted"));
    EXPECT_THAT(text, HasSubstr("-10.0"));
}

/// Three steps to warm up and five that count; of two runs.
TEST(Verification, ReadsStepsBubbleAndMemoryOfEveryRun) {
    const auto report = [](double first_ms, ByteCount high_water, double bubble) {
        nlohmann::json steps = nlohmann::json::array();
        for (int i = 0; i < 3; ++i) steps.push_back({{"warmup", true}, {"time_ms", 1000.0}});
        for (int i = 0; i < 5; ++i) steps.push_back({{"warmup", false}, {"time_ms", first_ms + i}});
        nlohmann::json ranks = nlohmann::json::array();
        for (int r = 0; r < 2; ++r) {
            ranks.push_back({{"rank", r}, {"pp_rank", 1 - r}, {"memory_high_water_bytes", {{"total", high_water}}}});
        }
        return nlohmann::json{{"summary", {{"bubble_ratio", bubble}}},
                              {"measured", {{"steps", steps}, {"ranks", ranks}}}}
            .dump();
    };
    MeasuredPlan plan;
    add_measured_run(report(10.0, 500, 0.25), "one.json", plan);
    add_measured_run(report(20.0, 400, 0.15), "two.json", plan);
    EXPECT_EQ(plan.step_ms.size(), 10U);
    ASSERT_EQ(plan.ranks.size(), 2U);
    EXPECT_EQ(plan.ranks[0].high_water, 500);
    EXPECT_EQ(plan.ranks[0].pp, 1);
    ValidationRow row;
    add_measured(plan, row);
    EXPECT_EQ(row.steps, 10);
    EXPECT_NEAR(*row.measured_step_s, 14e-3, 1e-12);
    EXPECT_NEAR(*row.measured_bubble_ratio, 0.15, 1e-12);
    EXPECT_EQ(*row.measured_memory_bytes, 500.0);
    try {
        add_measured_run(R"({"summary": {}})", "bad.json", plan);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr("bad.json"));
    }
}

TEST(Verification, PredictsEveryMeasuredRankByItsPlaceInThePipeline) {
    JobRequest request = test::tiny_request(2, 4);
    request.dp = 2;
    request.gpus = 4;
    request.software = "foreshard";
    MeasuredPlan measured;
    measured.ranks = {{0, 10}, {0, 10}, {1, 10}, {1, 10}};
    ValidationRow row;
    add_predicted(test::valid_job(request), measured, row);
    ASSERT_EQ(row.ranks.size(), 4U);
    EXPECT_EQ(row.ranks[0].predicted, row.ranks[1].predicted);
    EXPECT_NE(row.ranks[0].predicted, row.ranks[2].predicted) << "the first stage keeps more activations";
    EXPECT_GT(*row.predicted_step_s, 0.0);
    EXPECT_GT(*row.predicted_bubble_ratio, 0.0);
}

TEST(VerifyPlans, TheDefaultCalibratesOnAtMostFourAndPredictsTwelveOthers) {
    const std::vector<VerifyPlan> plans = default_plans(VerifyEffort::full);
    int fitted = 0;
    std::set<std::string> schedules;
    std::set<std::string> comms;
    for (const VerifyPlan& plan : plans) {
        fitted += plan.calibrates ? 1 : 0;
        comms.insert(plan.comm);
        const std::vector<std::string> words = words_of(plan.flags);
        const auto found = std::find(words.begin(), words.end(), "--schedule");
        if (!plan.calibrates && found != words.end()) schedules.insert(*(found + 1));
    }
    EXPECT_LE(fitted, 4);
    EXPECT_GE(static_cast<int>(plans.size()) - fitted, 12);
    EXPECT_GE(schedules.size(), 3U);
    EXPECT_EQ(comms, (std::set<std::string>{"mpi", "threads"}));
    const VerifyPace pace = pace_of(VerifyEffort::full);
    EXPECT_GE(pace.rounds * pace.iterations, 20);
}

TEST(VerifyPlans, AreReadALineEach) {
    const std::vector<VerifyPlan> plans = parse_plans(
        "# mine\n\n calibrate: --model gpt-tiny --pp 2\n--comm mpi --model gpt-tiny   --dp 2 # twice\r\n", "mine.txt");
    ASSERT_EQ(plans.size(), 2U);
    EXPECT_TRUE(plans[0].calibrates);
    EXPECT_EQ(plans[0].flags, "--model gpt-tiny --pp 2");
    EXPECT_EQ(plans[0].id, "gpt-tiny pp 2");
    EXPECT_EQ(plans[0].comm, "threads");
    EXPECT_EQ(plans[1].flags, "--model gpt-tiny --dp 2");
    EXPECT_EQ(plans[1].comm, "mpi");
}

TEST(VerifyPlans, NeedOneToCalibrateOnAndOneToPredict) {
    for (const char* text : {"", "--model gpt-tiny\n", "calibrate: --model gpt-tiny\n", "calibrate:\n--dp 2\n"}) {
        EXPECT_THROW(parse_plans(text, "mine.txt"), InputError) << text;
    }
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t times = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
    return times;
}

TEST(ScatterPlot, HasAPointWithATitleForEveryPlanThatWasMeasured) {
    const std::string svg = scatter_svg(some_rows());
    EXPECT_EQ(count(svg, "<g><title>"), 5U);
    EXPECT_EQ(count(svg, "calibration\" cx"), 3U) << "two plans, and the legend";
    EXPECT_THAT(svg, HasSubstr("measured step time, ms"));
    EXPECT_THAT(svg, HasSubstr("predicted step time, ms"));
    EXPECT_THAT(svg, HasSubstr("2. b (mpi): measured 200 ms, predicted 180 ms, -10.0 %"));
    EXPECT_THAT(svg, HasSubstr("c &amp; &lt;d&gt;"));
    EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
    EXPECT_THAT(svg, Not(HasSubstr("http://www.w3.org/1999"))) << "nothing is linked";
    EXPECT_THAT(svg, Not(HasSubstr("<script")));
    EXPECT_EQ(count(svg, "nan"), 0U);
}

/// Above the line of equality what was predicted too long, below it what was predicted too short.
TEST(ScatterPlot, PointsLieOnTheirSideOfTheLine) {
    const auto place = [](double measured, double predicted) {
        const std::string svg = scatter_svg(
            summarised({own_row("a", measured, predicted), own_row("b", 10.0, 10.0), own_row("c", 1000.0, 1000.0)}));
        const std::size_t at = svg.find("<circle class=\"threads\" cx=\"");
        double x = 0.0;
        double y = 0.0;
        EXPECT_EQ(std::sscanf(svg.c_str() + at, "<circle class=\"threads\" cx=\"%lf\" cy=\"%lf\"", &x, &y), 2);
        return std::pair(x, y);
    };
    const auto [even_x, even_y] = place(100.0, 100.0);
    const auto [long_x, long_y] = place(100.0, 120.0);
    const auto [short_x, short_y] = place(100.0, 80.0);
    EXPECT_EQ(long_x, even_x);
    EXPECT_EQ(short_x, even_x);
    EXPECT_LT(long_y, even_y);
    EXPECT_GT(short_y, even_y);
}

TEST(ScatterPlot, ThePageHasTheTableToo) {
    const std::string page = scatter_html(some_rows());
    EXPECT_EQ(count(page, "<tr>"), 7U) << "a head, and all plans";
    EXPECT_THAT(page, HasSubstr("no MPI"));
    EXPECT_THAT(page, HasSubstr("<svg"));
    EXPECT_THAT(page, Not(HasSubstr("src=")));
}

TEST(ScatterPlot, IsDrawnWithoutPlansAsWell) {
    EXPECT_EQ(count(scatter_svg(summarised({})), "<g><title>"), 0U);
}

}  // namespace
}  // namespace foreshard
