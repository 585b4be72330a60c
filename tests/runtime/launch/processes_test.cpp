#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "runtime/launch/socket.hpp"

// foreshard-run as processes that a launcher starts without MPI.

namespace {

using testing::AllOf;
using testing::HasSubstr;

namespace fs = std::filesystem;

constexpr const char* tiny = "--model gpt-tiny --num-layers 4 --seq-length 16 --gbs 4 ";

std::string read_file(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

int free_port() {
    std::string reason;
    return foreshard::runtime::port_of(foreshard::runtime::listen_on(0, reason));
}

struct Ended {
    int code = -1;
    std::string out;
    std::string err;
};

class Processes : public testing::Test {
protected:
    void SetUp() override {
        const auto* test = testing::UnitTest::GetInstance()->current_test_info();
        folder_ = fs::path(testing::TempDir()) / (std::string("foreshard_processes_") + test->name());
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    /// Two processes, started as torchrun does.
    std::array<Ended, 2> run(const std::string& arguments) const {
        std::ofstream script(folder_ / "run.sh");
        script << "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" << free_port() << "\n"
               << "cd '" << folder_.string() << "'\n"
               << "for rank in 0 1; do\n"
               << "    (RANK=$rank LOCAL_RANK=$rank timeout 60 '" FORESHARD_RUN_PROGRAM "' " << arguments
               << " >out.$rank 2>err.$rank; echo $? >code.$rank) &\n"
               << "done\nwait\n";
        script.close();
        EXPECT_EQ(std::system(("bash '" + (folder_ / "run.sh").string() + "'").c_str()), 0);
        std::array<Ended, 2> ended;
        for (int rank = 0; rank < 2; ++rank) {
            const std::string number = std::to_string(rank);
            ended[static_cast<std::size_t>(rank)] = {std::atoi(read_file(folder_ / ("code." + number)).c_str()),
                                                     read_file(folder_ / ("out." + number)),
                                                     read_file(folder_ / ("err." + number))};
        }
        return ended;
    }
    nlohmann::json json(const std::string& name) const { return nlohmann::json::parse(read_file(folder_ / name)); }

    fs::path folder_;
};

TEST_F(Processes, TrainAPipelineAndAShardedOptimizer) {
    for (const char* plan : {"--pp 2", "--dp 2 --use-distributed-optimizer", "--tp 2 --sp"}) {
        const auto ended = run(std::string(tiny) + plan + " --comm tcp --check --dtype fp64 --json r.json");
        EXPECT_EQ(ended[0].code, 0) << plan << "\n" << ended[0].err;
        EXPECT_EQ(ended[1].code, 0) << plan << "\n" << ended[1].err;
        EXPECT_THAT(ended[0].out, HasSubstr("check       passed")) << plan;
        EXPECT_EQ(ended[1].out, "") << "rank 0 speaks for all";
        const nlohmann::json environment = json("r.json").at("measured").at("environment");
        EXPECT_THAT(environment.at("launcher").get<std::string>(), HasSubstr("torchrun, rank 0 of 2"));
        EXPECT_EQ(environment.at("variables").at("WORLD_SIZE"), "2");
    }
}

TEST_F(Processes, MeetInAFolder) {
    const auto ended =
        run(std::string(tiny) + "--pp 2 --comm tcp --rendezvous '" + folder_.string() + "/store' --run-id a1 --check");
    EXPECT_EQ(ended[0].code, 0) << ended[0].err;
    EXPECT_EQ(ended[1].code, 0) << ended[1].err;
    EXPECT_TRUE(fs::is_empty(folder_ / "store"));
}

TEST_F(Processes, EndTogetherWhenOneFails) {
    const std::string fault = std::string(tiny) + "--pp 2 --comm tcp --iterations 2 --timeout-s 20 --json f.json ";
    const auto memory = run(fault + "--inject-fault memory=1");
    EXPECT_EQ(memory[0].code, 1);
    EXPECT_EQ(memory[1].code, 1);
    EXPECT_THAT(memory[0].err, HasSubstr("rank 1 failed in 1F0: out of memory"));
    EXPECT_GE(json("f.json").at("run").at("steps").size(), 3U) << "finished steps are kept";
    const auto killed = run(fault + "--inject-fault kill=1");
    EXPECT_EQ(killed[0].code, 1);
    EXPECT_THAT(killed[0].err, HasSubstr("rank 1 is lost"));
    const auto without_store = run(fault + "--inject-fault kill=0");
    EXPECT_EQ(without_store[1].code, 1);
    EXPECT_THAT(without_store[1].err, HasSubstr("the process of rank 0 has ended"));
}

TEST_F(Processes, AreAsManyAsThePlanHasRanks) {
    const auto ended = run(std::string(tiny) + "--comm tcp");
    EXPECT_EQ(ended[0].code, 2);
    EXPECT_THAT(ended[0].err, HasSubstr("2 processes, but the plan has 1 ranks"));
}

TEST_F(Processes, CalibrateTogether) {
    const auto ended = run(std::string(tiny) + "--dp 2 --comm tcp --calibrate tiny --json c.json");
    ASSERT_EQ(ended[0].code, 0) << ended[0].err;
    EXPECT_EQ(ended[1].code, 0) << ended[1].err;
    const nlohmann::json file = json("c.json");
    EXPECT_EQ(file.at("schema"), "foreshard.microbench");
    EXPECT_EQ(file.at("comm"), "tcp");
    bool reduced = false;
    for (const nlohmann::json& row : file.at("results")) {
        EXPECT_GT(row.at("time_us").at("median"), 0.0) << row;
        if (row.at("op") != "all_reduce") continue;
        reduced = true;
        EXPECT_EQ(row.at("group_size"), 2);
        EXPECT_EQ(row.at("ranks"), nlohmann::json({{0, 1}}));
        EXPECT_GE(row.at("message_bytes"), 1024);
    }
    EXPECT_TRUE(reduced);
}

/// Blocks of shell in docs/cluster.md.
std::vector<std::string> documented_scripts() {
    std::istringstream lines(read_file(fs::path(FORESHARD_SOURCE_DIR) / "docs" / "cluster.md"));
    std::vector<std::string> scripts;
    std::string line;
    bool inside = false;
    while (std::getline(lines, line)) {
        if (line == "```sh") scripts.emplace_back();
        if (line.starts_with("```")) {
            inside = line == "```sh";
        } else if (inside) {
            scripts.back() += line + "\n";
        }
    }
    return scripts;
}

TEST_F(Processes, StartFromTheScriptsOfTheDocs) {
    const std::vector<std::string> scripts = documented_scripts();
    ASSERT_GE(scripts.size(), 5U);
    int run_here = 0;
    for (const std::string& script : scripts) {
        const std::string path = (folder_ / "script.sh").string();
        std::ofstream(path) << script;
        EXPECT_EQ(std::system(("bash -n '" + path + "'").c_str()), 0) << script;
        if (script.find("--comm tcp") == std::string::npos) continue;
        const std::string port = "MASTER_PORT=" + std::to_string(free_port());
        const std::string here = "sed -i s/MASTER_PORT=29500/" + port + "/ '" + path + "'; cd '" + folder_.string() +
                                 "'; PATH=\"" + fs::path(FORESHARD_RUN_PROGRAM).parent_path().string() +
                                 ":$PATH\" timeout 100 bash '" + path + "' >log 2>&1";
        EXPECT_EQ(std::system(here.c_str()), 0) << read_file(folder_ / "log");
        EXPECT_THAT(read_file(folder_ / "log"), HasSubstr("check       passed"));
        ++run_here;
    }
    EXPECT_EQ(run_here, 1);
}

TEST_F(Processes, SayWhatIsNotThere) {
    const auto told = [&](const std::string& arguments) {
        const auto ended = run(std::string(tiny) + arguments);
        EXPECT_EQ(ended[0].code, 2) << arguments;
        return ended[0].err;
    };
    EXPECT_THAT(told("--comm nccl --dp 2"), HasSubstr("add --backend cuda"));
    EXPECT_THAT(told("--comm virtual --dp 2"), HasSubstr("add --backend cuda"));
    EXPECT_THAT(told("--backend cuda --comm tcp --dp 2"), AllOf(HasSubstr("virtual"), HasSubstr("nccl")));
    EXPECT_THAT(told("--backend cuda --dp 2"), AllOf(HasSubstr("virtual"), HasSubstr("nccl")));
    EXPECT_THAT(told("--comm tcp --dp 2 --rendezvous store"), HasSubstr("--run-id"));
    EXPECT_THAT(told("--calibrate tiny"), HasSubstr("--json"));
}

}  // namespace
