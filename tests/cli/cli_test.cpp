#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

// The program as scripts see it: exit codes, and what goes to which stream.

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

namespace fs = std::filesystem;

using foreshard::test::Outcome;
using foreshard::test::read_file;

class Cli : public foreshard::test::ProgramTest {
protected:
    Cli() : ProgramTest(FORESHARD_PROGRAM) {}

    std::string write(const std::string& name, const std::string& text) const {
        const fs::path path = folder_ / name;
        std::ofstream(path, std::ios::binary) << text;
        return "'" + path.string() + "'";
    }

    void expect_error(const std::string& arguments, int code, const std::string& message) const {
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.err;
        EXPECT_THAT(outcome.out, IsEmpty()) << arguments;
        EXPECT_THAT(outcome.err, AllOf(StartsWith("error: "), HasSubstr(message))) << arguments;
        EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b"))) << "no colour off a terminal";
    }
};

constexpr const char* tiny = "simulate --model gpt-tiny --cluster dgx-a100-80g ";

TEST_F(Cli, SchedulesAreListedAndDocumented) {
    const nlohmann::json schedules = nlohmann::json::parse(run("catalog schedules --json").out);
    std::ifstream file(std::string(FORESHARD_SOURCE_DIR) + "/docs/schedules.md");
    const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (const auto& schedule : schedules) {
        EXPECT_THAT(page, HasSubstr("| `" + schedule.at("id").get<std::string>() + "` |"));
        EXPECT_THAT(page, HasSubstr(schedule.at("bubble").get<std::string>()));
    }
    EXPECT_THAT(run("catalog schedules ZBVZeroBubble").out, HasSubstr("zb-v\n"));
}

TEST_F(Cli, ExportWritesTheGridThatScheduleFileReads) {
    const std::string job = "--model gpt-tiny --cluster dgx-a100-80g --pp 2 --gbs 4 ";
    const Outcome grid = run("export --format schedule-csv " + job + "--schedule dualpipe");
    EXPECT_EQ(grid.code, 0);
    EXPECT_EQ(grid.out,
              "0F0,1F2,0F1,1B2,1F3&0B0,1B3,0I1,0W1\n"
              "0F2,1F0,0F3,1B0,1F1&0B2,1B1,0I3,0W3\n");
    const std::string path = testing::TempDir() + "export-test.csv";
    EXPECT_EQ(run("export " + job + "--schedule zb-v -o " + path).code, 0);
    const auto step = [&](const std::string& flags) {
        return nlohmann::json::parse(run("simulate " + job + flags + " --json -").out).at("summary").at("step_time_ms");
    };
    EXPECT_EQ(step("--overlap-p2p --schedule zb-v"), step("--overlap-p2p --schedule-file " + path + " --placement v"));
    expect_error("export --format perfetto " + job, 2, "valid: schedule-csv");
    EXPECT_EQ(run("export --model gpt-tiny --cluster dgx-a100-80g --pp 2 --gbs 2 --schedule dualpipe").code, 3);
}

/// A job on 8 ranks of one node with this schedule.
std::string small_job(const std::string& schedule) {
    return R"({"schema": "foreshard.job", "schema_version": "1.0", "model": "gpt-tiny", "cluster": "dgx-a100-80g",
        "gpus": 4, "batch": {"global_batch_size": 8}, "plan": {"pp": 4, "schedule": ")" +
           schedule + R"("}})";
}

TEST_F(Cli, ComparesPlansReportsAndTraces) {
    const std::string a = write("a.json", small_job("gpipe"));
    const std::string b = write("b.json", small_job("zb-h1"));
    const std::string report = "'" + (folder_ / "report.json").string() + "'";
    const std::string trace = "'" + (folder_ / "trace.json.gz").string() + "'";
    ASSERT_EQ(run("simulate --job " + a + " --json " + report + " --trace " + trace).code, 0);
    const Outcome plans = run("compare " + a + " " + b);
    EXPECT_EQ(plans.code, 0) << plans.err;
    EXPECT_LT(plans.out.find("schedule"), plans.out.find("weight gradients")) << plans.out;
    EXPECT_THAT(plans.out, AllOf(HasSubstr("gpipe"), HasSubstr("bubble"), HasSubstr("only in B: 32 (32 weight grad)")));
    const Outcome same = run("compare " + a + " " + report + " " + trace);
    EXPECT_EQ(same.code, 0) << same.err;
    EXPECT_THAT(same.out, AllOf(HasSubstr("The steps take equally long"), HasSubstr("100.0 % of the spans match"),
                                Not(HasSubstr("Passes are not compared"))));
    // The report's job is simulated again for its passes: every span of it is A's.
    const nlohmann::json json = nlohmann::json::parse(run("compare " + a + " " + report + " --json -").out);
    EXPECT_EQ(json.at("comparisons").at(0).at("matching").at("match_ratio"), 1.0);
    EXPECT_EQ(json.at("comparisons").at(0).at("matching").at("similar"), 0);
}

TEST_F(Cli, CompareSaysFirstThatTheWorkDiffers) {
    const std::string a = write("a.json", small_job("gpipe"));
    const std::string b = write("b.json", R"({"schema": "foreshard.job", "schema_version": "1.0", "model": "gpt-tiny",
        "cluster": "dgx-a100-80g", "gpus": 4, "batch": {"global_batch_size": 16}, "plan": {"pp": 4,
        "schedule": "gpipe"}})");
    const std::string out = run("compare " + a + " " + b).out;
    EXPECT_TRUE(out.starts_with("Different work: global_batch_size 8 and 16\nA  ")) << out;
}

TEST_F(Cli, ComparisonAsJsonSumsToTheDifference) {
    const std::string a = write("a.json", small_job("gpipe"));
    const std::string b = write("b.json", small_job("1f1b"));
    const nlohmann::json json = nlohmann::json::parse(run("compare " + a + " " + b + " gpt-tiny-pp4 --json -").out);
    EXPECT_EQ(json.at("schema"), "foreshard.comparison");
    ASSERT_EQ(json.at("comparisons").size(), 2U);
    for (const nlohmann::json& comparison : json.at("comparisons")) {
        double sum = 0.0;
        for (const auto& [term, ms] : comparison.at("waterfall_ms").items()) sum += ms.get<double>();
        EXPECT_NEAR(sum, comparison.at("difference_ms").get<double>(), 1e-9);
    }
}

TEST_F(Cli, CompareFailsOnARegressionOnly) {
    const std::string slow = write("slow.json", small_job("gpipe"));
    const std::string fast = write("fast.json", small_job("zb-h1"));
    EXPECT_EQ(run("compare " + slow + " " + fast + " --fail-on-regression 2%").code, 0);
    const Outcome regressed = run("compare " + fast + " " + slow + " --fail-on-regression 2%");
    EXPECT_EQ(regressed.code, 5);
    EXPECT_THAT(regressed.err, HasSubstr("longer than that of"));
    EXPECT_EQ(run("compare " + fast + " " + slow + " --fail-on-regression 900%").code, 0);
    expect_error("compare " + fast + " " + slow + " --fail-on-regression two", 2, "must be a percentage");
    expect_error("compare " + fast, 2, "at least two");
    expect_error("compare " + fast + " '" + (folder_ / "none.json").string() + "'", 4, "cannot be opened");
    expect_error("compare " + fast + " " + write("t.json", "a,b\n"), 4, "is no job, report, search or trace");
}

}  // namespace

TEST_F(Cli, HelpAndVersionGoToStdout) {
    for (const std::string arguments : {"--help", "simulate --help", "memory -h", "catalog --help"}) {
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.code, 0);
        EXPECT_THAT(outcome.out, HasSubstr("Example:\n  foreshard "));
        EXPECT_THAT(outcome.err, IsEmpty());
    }
    EXPECT_THAT(run("--version").out, StartsWith("foreshard "));
}

TEST_F(Cli, UsageErrorsExitWith2AndSuggest) {
    expect_error("", 2, "which command?");
    expect_error("simulat", 2, "did you mean simulate?");
    expect_error(std::string(tiny) + "--modle x", 2, "did you mean --model?");
    expect_error(std::string(tiny) + "--frobnicate=3", 2, "--frobnicate: no such flag");
    expect_error(std::string(tiny) + "--tp eight", 2, "--tp");
    expect_error(std::string(tiny) + "--tp 1.5", 2, "--tp");
    expect_error(std::string(tiny) + "--tp", 2, "--tp");
    expect_error("simulate --model gpt3-157b --cluster selene", 2, "gpt3-175b");
    expect_error("simulate --cluster selene", 2, "--model");
    expect_error(std::string(tiny) + "--calibration mine", 2, "'mine' is not in the catalogue of calibrations");
    expect_error(std::string(tiny) + "--calibration mine.json", 4, "mine.json");
    expect_error(std::string(tiny) + "--layout Etx", 2, "character 3");
    expect_error("schema nothing", 2, "model");
    expect_error("catalog nothing", 2, "models");
    expect_error("completion tcsh", 2, "bash, zsh, fish");
}

TEST_F(Cli, PlansThatBreakRulesExitWith3AndNameAllRules) {
    expect_error(std::string(tiny) + "--pp 3 --tp 3 --gbs 6", 3, "8 layers cannot be divided over 3 pipeline stages");
    const Outcome outcome = run(std::string(tiny) + "--pp 3 --tp 3 --gbs 6");
    EXPECT_THAT(outcome.err, HasSubstr("num_attention_heads, tp: 4 attention heads cannot be divided over tp 3; "
                                       "nearest valid: tp 1, 2 or 4"));
}

TEST_F(Cli, UnreadableFilesExitWith4) {
    expect_error("simulate --job /no/such/file.json", 4, "/no/such/file.json: cannot be opened");
    expect_error("simulate --job " + write("cut.json", "{\"schema\": \"foreshard.job\", "), 4, "not valid JSON");
    expect_error("simulate --job " + write("binary.json", std::string("\x7f"
                                                                      "ELF\0\1\2\3",
                                                                      8)),
                 4, "not valid JSON");
    expect_error("simulate --job " + write("deep.json", std::string(100, '[')), 4, "nested deeper than 64");
    expect_error("simulate --job " + write("big.json", std::string((16 << 20) + 1, ' ')), 4, "16 MiB");
    expect_error(std::string(tiny) + "--stage-times " + write("times.json", "nonsense"), 4, "not valid JSON");
    expect_error(std::string(tiny) + "--schedule-file /no/such/file.csv", 4, "cannot be opened");
}

TEST_F(Cli, BadContentOfReadableFilesExitsWith2) {
    expect_error("simulate --job " + write("j.json", R"({"schema": "foreshard.job", "schema_version": "1.0",
        "model": "gpt-tiny", "cluster": "dgx-a100-80g", "plan": {"pp": 2, "scheduel": "1f1b"}})"),
                 2, "/plan/scheduel: unknown key; did you mean 'schedule'?");
    expect_error("simulate --job " + write("k.json", R"({"schema": "foreshard.job", "schema_version": "1.0",
        "plan": {"pp": "two"}})"),
                 2, "/plan/pp: \"two\" must be an integer");
}

TEST_F(Cli, UnderscoresAndMegatronNamesAreAliases) {
    const std::string arguments =
        "--tensor_model_parallel_size 2 --pipeline-model-parallel-size=2 --micro_batch_size=1 --global-batch-size 4 "
        "--sequence_parallel --recompute_granularity selective --world-size 4 --bf16 "
        "--use_distributed_optimizer --no-overlap-p2p-communication --json -";
    const Outcome outcome = run(tiny + arguments);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Outcome short_names = run(std::string(tiny) +
                                    "--tp 2 --pp 2 --mbs 1 --gbs 4 --sp --recompute selective "
                                    "--gpus 4 --precision bf16 --zero 1 --no-overlap-p2p --json -");
    ASSERT_EQ(short_names.code, 0) << short_names.err;
    const auto job = nlohmann::json::parse(outcome.out).at("job");
    EXPECT_EQ(job, nlohmann::json::parse(short_names.out).at("job"));
    EXPECT_EQ(job.at("plan").at("tp"), 2);
    EXPECT_EQ(job.at("plan").at("sp"), true);
}

TEST_F(Cli, JsonOnStdoutIsTheOnlyThingThere) {
    const Outcome outcome = run(std::string(tiny) + "--pp 2 --gbs 4 --json -");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto report = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(report.at("schema"), "foreshard.report");
    EXPECT_TRUE(report.at("summary").at("step_time_ms").is_number());
}

TEST_F(Cli, ThresholdsExitWith5) {
    const std::string job = std::string(tiny) + "--pp 2 --gbs 4 ";
    EXPECT_EQ(run(job + "--fail-if 'step_time_ms>0'").code, 5);
    EXPECT_EQ(run(job + "--fail-if 'step_time_ms<0' --fail-if 'step_time_ms >= 0'").code, 5);
    EXPECT_EQ(run(job + "--fail-if 'step_time_ms<0' --fail-if 'step_time_ms == 0'").code, 0);
    expect_error(job + "--fail-if 'step_tim_ms>0'", 2, "did you mean step_time_ms?");
    expect_error(job + "--fail-if 'step_time_ms'", 2, "KEY OPERATOR NUMBER");
    expect_error(job + "--fail-if 'step_time_ms>fast'", 2, "is not a number");
}

TEST_F(Cli, EveryPlanOfTheCatalogueIsSimulated) {
    const Outcome list = run("catalog plans --json");
    ASSERT_EQ(list.code, 0);
    for (const auto& entry : nlohmann::json::parse(list.out)) {
        const std::string id = entry.at("id");
        const Outcome outcome = run("simulate --job " + id);
        EXPECT_EQ(outcome.code, 0) << id << "\n" << outcome.err;
        EXPECT_THAT(outcome.out, Not(IsEmpty())) << id;
    }
}

TEST_F(Cli, CatalogSchemaAndCompletionPrintToStdout) {
    const Outcome models = run("catalog models");
    EXPECT_THAT(models.out, AllOf(HasSubstr("gpt3-175b"), Not(HasSubstr("selene"))));
    EXPECT_THAT(run("catalog").out, AllOf(HasSubstr("gpt3-175b"), HasSubstr("selene"), HasSubstr("megatron-2022")));
    EXPECT_EQ(nlohmann::json::parse(run("catalog models gpt-tiny").out).at("num_layers"), 8);
    EXPECT_EQ(nlohmann::json::parse(run("schema model").out).at("$id"), "foreshard.model");
    EXPECT_THAT(run("completion bash").out, AllOf(HasSubstr("complete -o default"), HasSubstr("--recompute")));
    EXPECT_THAT(run("completion fish").out, HasSubstr("complete -c foreshard"));
}

TEST_F(Cli, FitWritesATableThatADeviceMayName) {
    std::string csv = "# synthetic\nm,n,k,tflops\n";
    for (const char* m : {"64", "1024", "8192"}) {
        for (const char* n : {"64", "4096"}) csv += std::string(m) + "," + n + ",1024,100\n";
    }
    const std::string fit = "fit --device h100-sxm-80gb --kernels " + write("gemm.csv", csv) + " --output ";
    const Outcome outcome = run(fit + "'" + (folder_ / "kernels-mine.json").string() + "'");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("6 points"));
    const auto table = nlohmann::json::parse(read_file(folder_ / "kernels-mine.json"));
    EXPECT_EQ(table.at("id"), "kernels-mine");
    EXPECT_EQ(table.at("gemm").at("tflops"), nlohmann::json::array({100, 100, 100, 100}));
    EXPECT_EQ(nlohmann::json::parse(run(fit + "-").out).at("schema"), "foreshard.kernels");
    expect_error("fit --device h100 --kernels x.csv --output -", 2, "h100-sxm-80gb");
    expect_error("fit --device h100-sxm-80gb --kernels none.csv --output -", 4, "cannot be opened");
}

TEST_F(Cli, BashAcceptsTheCompletionScript) {
    const std::string script = write("completion.bash", run("completion bash").out);
    const std::string check = "bash -n " + script;
    EXPECT_EQ(std::system(check.c_str()), 0);
}
