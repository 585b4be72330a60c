#include <fstream>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/engine/evaluate.hpp"
#include "sim/error.hpp"
#include "sim/json_report.hpp"
#include "sim/result/compare.hpp"
#include "sim/result/run.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/runs.hpp"
#include "traces/file_kind.hpp"
#include "traces/read_report.hpp"
#include "traces/read_search.hpp"
#include "traces/report_run.hpp"

/// Reports and searches come back as they were written.
namespace foreshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ReadReports : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, ReadReports, testing::Range(std::uint64_t{1}, std::uint64_t{11}));

TEST_P(ReadReports, ComeBackAsTheyWereWritten) {
    const Evaluation e = evaluate(test::any_plan(GetParam()));
    const ReadReport read = parse_report("r.json", report_json(e, {"foreshard simulate", {}}));
    const foreshard::Run run = run_of(read);
    const foreshard::Run simulated = make_run("r.json", e.job, e.graph, e.timeline, e.report);
    EXPECT_EQ(run.step_time, simulated.step_time);
    EXPECT_EQ(run.accounts, simulated.accounts);
    EXPECT_TRUE(differing_settings(run, simulated).empty());
    for (std::size_t r = 0; r < run.memory.size(); ++r) {
        EXPECT_EQ(run.memory[r].peak, simulated.memory[r].peak);
        EXPECT_EQ(run.memory[r].states.total(), simulated.memory[r].states.total());
        EXPECT_EQ(run.spans.ranks[r].name, simulated.spans.ranks[r].name);
    }
    EXPECT_THAT(mismatches(read, simulated.figures), IsEmpty());
    // Its job, simulated again, is the same run.
    const Evaluation again = evaluate(resolve(read.job));
    EXPECT_EQ(again.timeline.step_time(), simulated.step_time);
}

/// Every pass of the simulated run, where it is simulated again to the same figures.
TEST_P(ReadReports, HaveThePassesOfTheirJob) {
    const Evaluation e = evaluate(test::any_plan(GetParam()));
    const ReadReport read = parse_report("r.json", report_json(e, {"foreshard simulate", {}}));
    const foreshard::Run simulated = make_run("r.json", e.job, e.graph, e.timeline, e.report);
    const foreshard::Run run = run_with_spans(read);
    const Comparison c = compare(simulated, run);
    EXPECT_EQ(run.spans.size(), simulated.spans.size());
    EXPECT_EQ(c.match_ratio(), 1.0);
    for (const SpanPair& pair : c.pairs) EXPECT_EQ(pair.late, 0);
    EXPECT_EQ(run.accounts, simulated.accounts);
}

nlohmann::json small_report() {
    const Evaluation e = evaluate(test::valid_job(test::tiny_request(2, 4)));
    return nlohmann::json::parse(report_json(e, {"", {}}));
}

std::string last_note(const nlohmann::json& report) {
    const foreshard::Run run = run_with_spans(parse_report("r.json", report.dump()));
    EXPECT_EQ(run.spans.size(), 0U);
    return run.notes.empty() ? "" : run.notes.back();
}

TEST(ReadReport, HasNoPassesWhereTheyWouldBeOthers) {
    nlohmann::json report = small_report();
    report["summary"]["mfu_ratio"] = 0.5;
    EXPECT_THAT(last_note(report), HasSubstr("simulated again, it differs: mfu_ratio"));
    nlohmann::json measured = small_report();
    measured["measured"] = nlohmann::json::object();
    EXPECT_THAT(last_note(measured), HasSubstr("no times of tasks"));
    measured["measured"]["tasks"] = {
        {{"pp_rank", 0}, {"stream", "compute"}, {"task", "F9"}, {"step", 0}, {"start_ms", 0.0}, {"end_ms", 1.0}}};
    EXPECT_THAT(last_note(measured), HasSubstr("not those of its job"));
    measured["measured"]["tasks"][0]["end_ms"] = -1.0;
    EXPECT_THROW(parse_report("r.json", measured.dump()), InputError);
}

TEST(ReadReport, TellsFiguresThatChanged) {
    nlohmann::json report = small_report();
    const double step = report["summary"]["step_time_ms"];
    const ReadReport before = parse_report("r.json", report.dump());
    report["summary"]["mfu_ratio"] = 0.5;
    const ReadReport after = parse_report("r.json", report.dump());
    const std::vector<std::string> lines = mismatches(after, before.figures);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_THAT(lines.front(), HasSubstr("mfu_ratio is 0.5 in the report"));
    EXPECT_EQ(after.figures.at("step_time_ms"), step);
}

TEST(ReadReport, FillsUpMeasuredTimesThatDoNotSum) {
    nlohmann::json report = small_report();
    report["measured"] = {{"n", 20}, {"step_time_min_ms", 1.0}};
    report["summary"]["step_time_ms"] = report["summary"]["step_time_ms"].get<double>() + 1.0;
    const ReadReport read = parse_report("r.json", report.dump());
    EXPECT_EQ(read.source, RunSource::measured);
    EXPECT_EQ(read.figures.at("measured.n"), 20.0);
    const foreshard::Run run = run_of(read);
    for (const RankAccount& account : run.accounts) {
        EXPECT_EQ(std::accumulate(account.begin(), account.end(), Picoseconds{0}), run.step_time);
    }
    EXPECT_THAT(read.notes, testing::Contains(HasSubstr("counted as bubble")));
    EXPECT_THAT(mismatches(read, {{"step_time_ms", 0.0}}), IsEmpty());
}

void expect_refused(const nlohmann::json& report, const std::string& place) {
    try {
        parse_report("r.json", report.dump());
        FAIL() << place;
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr(place));
    }
}

TEST(ReadReport, NamesThePlaceOfWhatIsWrong) {
    nlohmann::json report = small_report();
    report["ranks"][1]["time_ms"]["bubble"] = -1.0;
    expect_refused(report, "/ranks/1/time_ms/bubble");
    report = small_report();
    report["summary"].erase("step_time_ms");
    expect_refused(report, "/summary/step_time_ms");
    report = small_report();
    report["job"]["plan"]["pp"] = "two";
    expect_refused(report, "/plan/pp");
    report = small_report();
    report["schema_version"] = "2.0";
    expect_refused(report, "version '2.0' is not known");
    EXPECT_THROW(parse_report("r.json", "{"), UnreadableFile);
}

ReadSearch small_search() {
    return read_search(FORESHARD_SOURCE_DIR "/tests/golden/search-small.json");
}

TEST(ReadSearch, KnowsPlansFiguresAndReasons) {
    const ReadSearch search = small_search();
    ASSERT_EQ(search.plans.size(), 6U);
    EXPECT_EQ(search.evaluated, 9);
    EXPECT_EQ(search.infeasible.at("num_layers does not divide by pp x vpp"), 3);
    EXPECT_EQ(search.plans[0].plan.at("schedule"), "1f1b");
    EXPECT_EQ(search.plans[3].plan.at("mbs"), "2");
    EXPECT_EQ(search.plans[0].figure("step_time_ms"), 10.0);
    EXPECT_EQ(search.plans[0].figure("nothing"), std::nullopt);
    EXPECT_THAT(search.plans[5].infeasible, HasSubstr("44.0 of 40.0 GiB"));
    EXPECT_FALSE(search.plans[5].fits);
}

TEST(ReadSearch, ParetoFrontIsWhatNoPlanBeats) {
    const ReadSearch search = small_search();
    EXPECT_THAT(search.pareto, ElementsAre(3U, 1U, 0U));  // 12, 18 and 20 GiB, each faster
}

TEST(ReadSearch, EveryPlanIsAJobThatRuns) {
    for (const SearchPlan& plan : small_search().plans) {
        const Job job = resolve(plan.request);
        EXPECT_THAT(check(job), IsEmpty());
        EXPECT_EQ(job.model.id, "gpt-tiny");
        EXPECT_EQ(std::to_string(job.plan.tp), plan.plan.at("tp"));
        EXPECT_EQ(job.global_batch, 64);
    }
}

TEST(FileKind, IsToldByTheContent) {
    const Evaluation e = evaluate(test::valid_job(test::tiny_request(2, 4)));
    EXPECT_EQ(kind_of_text("r", report_json(e, {"", {}})), FileKind::report);
    EXPECT_EQ(kind_of_file(FORESHARD_SOURCE_DIR "/tests/golden/search-small.json"), FileKind::search);
    EXPECT_EQ(kind_of_file(FORESHARD_SOURCE_DIR "/models/plans/gpt-tiny-pp4.json"), FileKind::job);
    EXPECT_EQ(kind_of_text("t", R"([{"ph":"X","ts":1}])"), FileKind::trace);
    EXPECT_THROW(kind_of_text("t", "step,time\n1,2\n"), UnreadableFile);
    EXPECT_THROW(kind_of_file("/nowhere"), UnreadableFile);
    EXPECT_THROW(kind_of_file(FORESHARD_SOURCE_DIR), UnreadableFile);
}

}  // namespace
}  // namespace foreshard
