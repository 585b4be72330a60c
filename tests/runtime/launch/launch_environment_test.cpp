#include "runtime/launch/launch_environment.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/launch/host_list.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Environment = std::map<std::string, std::string>;

LaunchEnvironment launch_of(const Environment& environment, const LaunchFlags& flags = {}) {
    return read_launch(flags, [&](const std::string& name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        if (found == environment.end()) return std::nullopt;
        return found->second;
    });
}

std::string refusal_of(const Environment& environment, const LaunchFlags& flags = {}) {
    try {
        launch_of(environment, flags);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

const Environment torchrun = {{"RANK", "3"},
                              {"WORLD_SIZE", "8"},
                              {"LOCAL_RANK", "1"},
                              {"MASTER_ADDR", "10.0.0.7"},
                              {"MASTER_PORT", "29511"},
                              {"TORCHELASTIC_RUN_ID", "run-5"}};

TEST(LaunchEnvironment, ReadsTorchrun) {
    const LaunchEnvironment launch = launch_of(torchrun);
    EXPECT_EQ(launch.rank, 3);
    EXPECT_EQ(launch.ranks, 8);
    EXPECT_EQ(launch.local_rank, 1);
    EXPECT_EQ(launch.host, "10.0.0.7");
    EXPECT_EQ(launch.port, 29511);
    EXPECT_EQ(launch.run_id, "run-5");
    EXPECT_EQ(launch.source, "torchrun");
}

/// A torchrun inside a Slurm task sees the variables of both.
TEST(LaunchEnvironment, TheInnermostLauncherCounts) {
    Environment all = torchrun;
    all.insert({{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "16"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}});
    all.insert({{"PMI_RANK", "6"}, {"PMI_SIZE", "32"}, {"MPI_LOCALRANKID", "0"}});
    all.insert({{"SLURM_PROCID", "7"}, {"SLURM_NTASKS", "64"}, {"SLURM_LOCALID", "3"}});
    LaunchFlags flags;
    flags.rank = 1;
    flags.ranks = 2;
    EXPECT_EQ(launch_of(all, flags).rank, 1);
    EXPECT_EQ(launch_of(all).rank, 3);
    all.erase("RANK");
    all.erase("WORLD_SIZE");
    EXPECT_EQ(launch_of(all).ranks, 16);
    all.erase("OMPI_COMM_WORLD_RANK");
    all.erase("OMPI_COMM_WORLD_SIZE");
    EXPECT_EQ(launch_of(all).ranks, 32);
    all.erase("PMI_RANK");
    all.erase("PMI_SIZE");
    EXPECT_EQ(launch_of(all).ranks, 64);
    EXPECT_EQ(launch_of(all).local_rank, 3);
    EXPECT_EQ(launch_of(all).source, "Slurm");
}

/// srun --mpi=pmi2: PMI tells the rank, and Slurm alone which process of its host this is.
TEST(LaunchEnvironment, TheLocalRankIsTakenFromWhoeverTellsIt) {
    Environment pmi2 = {{"PMI_RANK", "6"},      {"PMI_SIZE", "16"},     {"SLURM_PROCID", "6"},
                        {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "2"}, {"MASTER_ADDR", "node1"}};
    EXPECT_EQ(launch_of(pmi2).source, "PMI");
    EXPECT_EQ(launch_of(pmi2).local_rank, 2);
    pmi2["SLURM_PROCID"] = "0";  // of the batch script that started another launcher: not this process's
    EXPECT_EQ(launch_of(pmi2).local_rank, 0);
}

TEST(LaunchEnvironment, SlurmsFirstHostIsRankZeros) {
    Environment slurm = {{"SLURM_PROCID", "7"},
                         {"SLURM_NTASKS", "16"},
                         {"SLURM_LOCALID", "3"},
                         {"SLURM_JOB_NODELIST", "gpu[012-014,20],spare1"},
                         {"SLURM_JOB_ID", "4711"}};
    EXPECT_EQ(launch_of(slurm).host, "gpu012");
    EXPECT_EQ(launch_of(slurm).port, 29500);
    EXPECT_EQ(launch_of(slurm).run_id, "4711");
    slurm["MASTER_ADDR"] = "head";
    EXPECT_EQ(launch_of(slurm).host, "head");
}

TEST(LaunchEnvironment, HostListsAsSlurmWritesThem) {
    EXPECT_EQ(first_host("V", "node7"), "node7");
    EXPECT_EQ(first_host("V", "a,b"), "a");
    EXPECT_EQ(first_host("V", "rack[2,5]n[08-11]-ib,other"), "rack2n08-ib");
    EXPECT_EQ(first_host("V", "n[9],b[1-2]"), "n9");
    for (const char* wrong : {"", ",a", "n[1-3", "n1]", "n[]"}) {
        EXPECT_THROW(first_host("V", wrong), InputError) << wrong;
    }
}

TEST(LaunchEnvironment, AllProcessesOnOneHostNeedNoAddress) {
    const Environment mpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                                {"OMPI_COMM_WORLD_SIZE", "4"},
                                {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
    EXPECT_EQ(launch_of(mpirun).host, "127.0.0.1");
    Environment two_hosts = mpirun;
    two_hosts["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
    EXPECT_THAT(refusal_of(two_hosts), AllOf(HasSubstr("MASTER_ADDR"), HasSubstr("Open MPI")));
}

TEST(LaunchEnvironment, FlagsNameTheMaster) {
    LaunchFlags flags;
    flags.rank = 0;
    flags.ranks = 2;
    flags.master = "node1:1234";
    EXPECT_EQ(launch_of({}, flags).host, "node1");
    EXPECT_EQ(launch_of({}, flags).port, 1234);
    flags.master = "[fe80::1]:99";
    EXPECT_EQ(launch_of({}, flags).host, "fe80::1");
    EXPECT_EQ(launch_of({}, flags).port, 99);
    flags.master = "node2";
    EXPECT_EQ(launch_of({{"MASTER_PORT", "77"}}, flags).port, 77);
    flags.ranks.reset();
    EXPECT_THAT(refusal_of({}, flags), HasSubstr("--ranks"));
}

TEST(LaunchEnvironment, RefusalsNameTheVariableAndItsValue) {
    const auto with = [](const std::string& name, const std::string& value) {
        Environment changed = torchrun;
        changed[name] = value;
        return refusal_of(changed);
    };
    EXPECT_THAT(with("RANK", "8"), AllOf(HasSubstr("RANK"), HasSubstr("'8'"), HasSubstr("0 to 7")));
    EXPECT_THAT(with("RANK", "-1"), HasSubstr("'-1'"));
    EXPECT_THAT(with("RANK", "3x"), HasSubstr("'3x'"));
    EXPECT_THAT(with("RANK", ""), HasSubstr("''"));
    EXPECT_THAT(with("WORLD_SIZE", "0"), AllOf(HasSubstr("WORLD_SIZE"), HasSubstr("'0'")));
    EXPECT_THAT(with("WORLD_SIZE", "99999999999"), HasSubstr("'99999999999'"));
    EXPECT_THAT(with("LOCAL_RANK", "one"), AllOf(HasSubstr("LOCAL_RANK"), HasSubstr("'one'")));
    EXPECT_THAT(with("MASTER_PORT", "65536"), AllOf(HasSubstr("MASTER_PORT"), HasSubstr("65535")));
    EXPECT_THAT(with("MASTER_ADDR", ""), HasSubstr("MASTER_ADDR"));
    Environment half = torchrun;
    half.erase("WORLD_SIZE");
    EXPECT_THAT(refusal_of(half), AllOf(HasSubstr("WORLD_SIZE"), HasSubstr("RANK is '3'")));
    EXPECT_THAT(refusal_of({}), AllOf(HasSubstr("torchrun"), HasSubstr("--rank")));
    EXPECT_THAT(refusal_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_NODELIST", "n[1"}}),
                AllOf(HasSubstr("SLURM_JOB_NODELIST"), HasSubstr("'n[1'")));
}

}  // namespace
}  // namespace foreshard::runtime
