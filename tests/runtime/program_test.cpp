#include "tests/support/program.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/schema.hpp"

// foreshard-run as scripts see it: exit codes, reports, and how it ends when something breaks.

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

using foreshard::test::Outcome;
using foreshard::test::read_file;

constexpr const char* tiny = "--model gpt-tiny --num-layers 4 --seq-length 16 --gbs 4 ";

class RunProgram : public foreshard::test::ProgramTest {
protected:
    RunProgram() : ProgramTest(FORESHARD_RUN_PROGRAM) {}

    std::string file(const std::string& name) const { return (folder_ / name).string(); }
    nlohmann::json json(const std::string& name) const { return nlohmann::json::parse(read_file(folder_ / name)); }
};

TEST_F(RunProgram, ChecksAPlanAndReportsIt) {
    const Outcome outcome = run(std::string(tiny) + "--pp 2 --dp 2 --check --dtype fp64 --json -");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const nlohmann::json report = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(foreshard::test::violations("report", report), "");
    EXPECT_TRUE(report.at("check").at("passed"));
    EXPECT_GT(report.at("check").at("tensors"), 50);
    EXPECT_LT(report.at("check").at("max_relative_error"), 1e-12);
    EXPECT_EQ(report.at("measured").at("ranks").size(), 4U);
    EXPECT_GT(report.at("summary").at("step_time_ms"), 0.0);
}

/// What the runtime does beyond the ops that the simulator times is told.
TEST_F(RunProgram, TellsOfSumsThatNoOpStandsFor) {
    const auto assumptions = [&](const std::string& flags) {
        const Outcome outcome =
            run("--num-layers 2 --seq-length 16 --gbs 2 --iterations 1 --warmup 0 --json - " + flags);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return nlohmann::json::parse(outcome.out).at("provenance").at("assumptions").dump();
    };
    EXPECT_THAT(assumptions("--model gpt-tiny --tp 2 --sp"), HasSubstr("that every rank holds whole"));
    EXPECT_THAT(assumptions("--model llama-tiny --tp 4"), HasSubstr("KV heads that several ranks"));
    EXPECT_THAT(assumptions("--model gpt-tiny --tp 2"), Not(HasSubstr("all-reduces over tensor-parallel")));
}

TEST_F(RunProgram, ExitsWith5WhenAMessageIsSpoiled) {
    const Outcome outcome = run(std::string(tiny) + "--pp 2 --check --inject-fault message=2");
    EXPECT_EQ(outcome.code, 5) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("check       FAILED"));
}

TEST_F(RunProgram, WritesTraceAndStageTimes) {
    const Outcome outcome = run(std::string(tiny) + "--pp 2 --iterations 4 --json '" + file("r.json") + "' --trace '" +
                                file("t.json") + "' --write-stage-times '" + file("s.json") + "'");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_GT(json("t.json").at("traceEvents").size(), 50U);
    EXPECT_EQ(json("s.json").at("stages").size(), 2U);
    const nlohmann::json measured = json("r.json").at("measured");
    EXPECT_EQ(measured.at("steps").size(), 6U) << "two to warm up";
    EXPECT_EQ(measured.at("step_time_ms").at("count"), 2);
    EXPECT_EQ(measured.at("uninstrumented_step_time_ms").at("count"), 2);
    EXPECT_EQ(measured.at("op_steps"), 2);
    for (const char* key : {"ops", "communication", "overheads"}) EXPECT_FALSE(measured.at(key).empty()) << key;
    for (const char* key : {"host", "processor", "cores", "compiler"}) {
        EXPECT_TRUE(measured.at("environment").contains(key)) << key;
    }
}

TEST_F(RunProgram, SaysWhyItDoesNotRunAPlan) {
    const struct {
        const char* flags;
        const char* message;
        int code;
    } cases[] = {{"--pp 2 --schedule pipedream", "schedules that flush", 3},
                 {"--pp 2 --schedule 1f1b-vocab-1 --vocab-size 256", "splits the vocabulary", 3},
                 {"--cp 2", "context parallelism", 3},
                 {"--dp 2 --data-parallel horovod", "does not execute horovod", 3},
                 {"--pp 2 --dp 2 --data-parallel fsdp2", "tied embedding", 3},
                 {"--software megatron-core-te --precision fp32", "its own kernels", 3},
                 {"--dtype bf16", "the processor computes in fp32 or fp64", 2},
                 {"--dtype tf32", "the processor computes in fp32 or fp64", 2},
                 {"--cuda-graph", "needs --backend cuda", 2},
                 {"--precision bf16", "the runtime computes in fp32, not in bf16", 3},
                 {"--pp 2 --inject-fault kill=1", "needs a process for every rank", 2},
                 {"--pp 2 --inject-fault memory=7", "there is no rank 7", 2},
                 {"--data /no/such/text", "/no/such/text", 4}};
    for (const auto& test : cases) {
        const Outcome outcome = run(std::string(tiny) + test.flags);
        EXPECT_EQ(outcome.code, test.code) << test.flags << "\n" << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr(test.message)) << test.flags;
    }
}

/// Whether this build has CUDA or not, and this machine a GPU or not: none is visible here.
TEST_F(RunProgram, SaysWhatIsMissingForAGpu) {
    ASSERT_EQ(setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);
    const Outcome outcome = run(std::string(tiny) + "--backend cuda --dtype bf16");
    ASSERT_EQ(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, testing::AnyOf(HasSubstr("--backend: cuda: no NVIDIA driver was found"),
                                            HasSubstr("--backend: cuda: no GPU is visible"),
                                            HasSubstr("--backend: cuda: this program was built without CUDA")));
}

TEST_F(RunProgram, EndsCleanlyWhenARankHasNoMemory) {
    const Outcome outcome =
        run(std::string(tiny) + "--pp 2 --iterations 2 --inject-fault memory=1 --json '" + file("f.json") + "'");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 failed in 1F0: out of memory"));
    EXPECT_EQ(json("f.json").at("failure").at("rank"), 1);
    EXPECT_EQ(json("f.json").at("run").at("steps").size(), 3U) << "finished steps are kept";
}

TEST_F(RunProgram, EndsCleanlyWhenAMessageHasTheWrongSize) {
    const Outcome outcome = run(std::string(tiny) + "--pp 2 --inject-fault size=0");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("rank 0 sends message of 2048 bytes, but rank 1 expects message of 4096 bytes"));
}

/// With mpirun, where there is one.
class MpiProgram : public RunProgram {
protected:
    void SetUp() override {
        RunProgram::SetUp();
        if (std::string(FORESHARD_MPIRUN_PROGRAM).empty()) GTEST_SKIP() << "no MPI";
    }
    Outcome mpi(int processes, const std::string& arguments) const {
        return run("--comm mpi " + arguments,
                   "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                   "ASAN_OPTIONS=detect_leaks=0 "  // what MPI never frees
                   "timeout 100 '" FORESHARD_MPIRUN_PROGRAM "' --oversubscribe -np " +
                       std::to_string(processes) + " ");
    }
    /// Breaks rank 1 in the last step, and expects an end with these words.
    void expect_end(const std::string& fault, const std::string& words) const {
        const Outcome outcome = mpi(2, std::string(tiny) + "--pp 2 --iterations 2 --timeout-s 5 --inject-fault " +
                                           fault + " --json '" + file("f.json") + "'");
        EXPECT_NE(outcome.code, 0) << fault;
        EXPECT_NE(outcome.code, 124) << fault << " hangs";
        EXPECT_THAT(outcome.err, HasSubstr(words)) << fault;
        EXPECT_GE(json("f.json").at("run").at("steps").size(), 3U) << "finished steps are kept";
        fs::remove(folder_ / "f.json");
    }
};

TEST_F(MpiProgram, ChecksPlansOfTwoAndFourProcesses) {
    const char* const plans[] = {"--pp 2", "--dp 2 --use-distributed-optimizer", "--tp 2 --sp"};
    for (const char* plan : plans) {
        const Outcome outcome = mpi(2, std::string(tiny) + plan + " --check --dtype fp64");
        EXPECT_EQ(outcome.code, 0) << plan << "\n" << outcome.err;
        EXPECT_THAT(outcome.out, HasSubstr("check       passed"));
    }
    const Outcome four = mpi(4,
                             "--model llama-tiny --num-layers 4 --seq-length 16 --gbs 8 --pp 2 --dp 2 "
                             "--data-parallel fsdp2 --schedule zb-h1 --check --dtype fp64");
    EXPECT_EQ(four.code, 0) << four.err;
    EXPECT_THAT(four.out, HasSubstr("check       passed"));
}

TEST_F(MpiProgram, FindsASpoiledMessage) {
    EXPECT_EQ(mpi(2, std::string(tiny) + "--pp 2 --check --inject-fault message=1").code, 5);
}

TEST_F(MpiProgram, EndsWhenARankDiesOrStops) {
    expect_end("kill=1", "it waited for rank 1 (message of 4096 bytes");
    expect_end("kill=0", "it waited for rank 0 (message of 4096 bytes");
    expect_end("stop=1", "rank 0 waits for rank 1 (message of 4096 bytes");
    expect_end("memory=1", "rank 1 failed in 1F0: out of memory");
}

TEST_F(MpiProgram, EndsWhenAMessageHasTheWrongSize) {
    const Outcome outcome = mpi(2, std::string(tiny) + "--pp 2 --timeout-s 5 --inject-fault size=0");
    EXPECT_NE(outcome.code, 0);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("message of 2048 bytes"), HasSubstr("message of 4096 bytes")));
}

TEST_F(MpiProgram, RefusesAWrongNumberOfProcesses) {
    const Outcome outcome = mpi(2, std::string(tiny) + "--pp 4");
    EXPECT_THAT(outcome.err, HasSubstr("2 processes, but the plan has 4 ranks"));
    EXPECT_NE(outcome.code, 0);
}

}  // namespace
