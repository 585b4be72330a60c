#include "sim/plan/comm_program.hpp"

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"
#include "sim/plan/dry_run.hpp"
#include "sim/plan/schedule.hpp"
#include "tests/support/all_schedules.hpp"

namespace foreshard {
namespace {

using Kind = CommFault::Kind;
using Steps = std::vector<std::vector<std::string>>;

CommFault rendezvous(const Steps& steps) {
    return check_rendezvous(parse_comm_program(steps));
}
CommFault pairs(const Steps& steps) {
    return check_in_order_pairs(parse_comm_program(steps));
}

// The excerpts of pytorch#172668 and torchtitan#2209: stages 0, 2 on rank 0 and 1, 3 on rank 1.
TEST(CommProgram, Lock01ReceiveBeforeForwardWaitsInACycle) {
    const CommFault first = rendezvous({{"[S1:f1.1]", "[R1:f2.0]", "2F0"}, {"[S0:f2.0]", "[R0:f1.1]", "1F1"}});
    EXPECT_EQ(first.kind, Kind::cyclic_wait);
    EXPECT_EQ(first.message,
              "cyclic wait: rank 0 in [S1:f1.1] (step 0) waits for rank 1 in [S0:f2.0] (step 0) waits for rank 0");

    // The second excerpt ends before rank 0 receives the gradient of 3B1.
    const CommFault second = rendezvous({{"[S1:f3.1]", "0F2", "[S1:f1.2]", "[R1:b2.0]", "2B0"},
                                         {"[R0:f3.1]", "[S0:b2.0]", "3F1", "3B1", "[R0:f1.2]", "[S0:b2.1]", "1F2"}});
    EXPECT_EQ(second.kind, Kind::cyclic_wait);
    EXPECT_NE(second.message.find("rank 0 in [S1:f1.2] (step 2)"), std::string::npos) << second.message;
    EXPECT_NE(second.message.find("rank 1 in [S0:b2.0] (step 1)"), std::string::npos) << second.message;
}

TEST(CommProgram, Lock02SendThenReceiveOnBothRanksHangsUnlessGrouped) {
    const CommFault fault = rendezvous({{"[S1]", "[R1]"}, {"[S0]", "[R0]"}});
    EXPECT_EQ(fault.kind, Kind::cyclic_wait);
    EXPECT_NE(fault.message.find("rank 0 in [S1]"), std::string::npos) << fault.message;
    EXPECT_NE(fault.message.find("rank 1 in [S0]"), std::string::npos) << fault.message;
    EXPECT_EQ(rendezvous({{"[S1,R1]"}, {"[S0,R0]"}}).kind, Kind::none);
    EXPECT_EQ(rendezvous({{"[S1]", "[R1]"}, {"[R0]", "[S0]"}}).kind, Kind::none);
}

TEST(CommProgram, Lock03AsynchronousOperationsOfOnePairRunInIssueOrder) {
    const CommFault fault = pairs({{"[S1:a]", "[R1:b]"}, {"[S0:b]", "[R0:a]"}});
    EXPECT_EQ(fault.kind, Kind::cyclic_wait);
    EXPECT_EQ(fault.message,
              "cyclic wait: rank 0 in [S1:a] (step 0) waits for rank 1 in [S0:b] (step 0) waits for rank 0");
    EXPECT_EQ(pairs({{"[S1:a]", "[R1:b]"}, {"[R0:a]", "[S0:b]"}}).kind, Kind::none);
}

// A ring of sends: each pair in order is fine, one stream per rank is not.
TEST(CommProgram, PairsOfRanksDoNotHoldEachOtherUp) {
    const Steps ring{{"[S1]", "[R2]"}, {"[S2]", "[R0]"}, {"[S0]", "[R1]"}};
    EXPECT_EQ(pairs(ring).kind, Kind::none);
    const CommFault fault = rendezvous(ring);
    EXPECT_EQ(fault.kind, Kind::cyclic_wait);
    for (const char* rank : {"rank 0 in [S1]", "rank 1 in [S2]", "rank 2 in [S0]"}) {
        EXPECT_NE(fault.message.find(rank), std::string::npos) << fault.message;
    }
}

TEST(CommProgram, PairsWaitForWhatTheySend) {
    // Each rank computes what it sends from what it receives.
    const CommFault fault =
        pairs({{"[R1:a]", "0F0", "[S2:b]"}, {"[R2:c]", "1F0", "[S0:a]"}, {"[R0:b]", "2F0", "[S1:c]"}});
    EXPECT_EQ(fault.kind, Kind::cyclic_wait);
    EXPECT_NE(fault.message.find("rank 0 in [R1:a]"), std::string::npos) << fault.message;
}

// Interleaved PP=4 VPP=2: every rank hands chunk 0 to the next rank, and rank 3 to rank 0.
TEST(CommProgram, Lock04LazyCommunicatorsOfUnbatchedSendsHang) {
    const CommProgram program = parse_comm_program({{"0F0", "[S1:f1.0]", "[R3:f4.0]", "4F0"},
                                                    {"[S2:f2.1]", "[R0:f1.0]", "1F0"},
                                                    {"[S3:f3.1]", "[R1:f2.1]", "2F1"},
                                                    {"[S0:f4.0]", "[R2:f3.1]", "3F1"}});
    EXPECT_EQ(check_in_order_pairs(program).kind, Kind::none);
    const CommFault fault = check_lazy_communicators(program);
    EXPECT_EQ(fault.kind, Kind::cyclic_wait);
    for (const char* rank : {"rank 0", "rank 1", "rank 2", "rank 3"}) {
        EXPECT_NE(fault.message.find(rank), std::string::npos) << fault.message;
    }
    // Created up front in this order by all ranks, the same program is safe.
    const std::vector<std::pair<int, int>> order{{0, 1}, {0, 3}, {1, 2}, {2, 3}};
    EXPECT_EQ(communicator_pairs(program), order);
}

// With two ranks, forward and backward share one pair: Megatron's unfused 1F1B hangs, its fused groups do not.
TEST(CommProgram, UnfusedOneFOneBHangsAndFusedCompletes) {
    EXPECT_EQ(rendezvous({{"0F0", "[S1:f0]", "0F1", "[S1:f1]", "[R1:b0]", "0B0", "[R1:b1]", "0B1"},
                          {"[R0:f0]", "1F0", "1B0", "[S0:b0]", "[R0:f1]", "1F1", "1B1", "[S0:b1]"}})
                  .kind,
              Kind::cyclic_wait);
    EXPECT_EQ(rendezvous({{"0F0", "[S1:f0]", "0F1", "[S1:f1,R1:b0]", "0B0", "[R1:b1]", "0B1"},
                          {"[R0:f0]", "1F0", "1B0", "[S0:b0,R0:f1]", "1F1", "1B1", "[S0:b1]"}})
                  .kind,
              Kind::none);
}

TEST(CommProgram, FindsOperationsWithoutCounterpart) {
    const CommFault send = rendezvous({{"[S1:f0]", "[S1:f1]"}, {"[R0:f0]"}});
    EXPECT_EQ(send.kind, Kind::unmatched);
    EXPECT_NE(send.message.find("rank 0 in [S1:f1] (step 1)"), std::string::npos) << send.message;
    EXPECT_EQ(rendezvous({{"[R1]"}, {}}).kind, Kind::unmatched);
    EXPECT_EQ(pairs({{"[R1]"}, {}}).kind, Kind::unmatched);
}

TEST(CommProgram, FindsTagsThatDiffer) {
    const CommFault fault = rendezvous({{"[S1:f1.0]", "[S1:f1.1]"}, {"[R0:f1.0]", "[R0:b0.0]"}});
    EXPECT_EQ(fault.kind, Kind::tag_mismatch);
    EXPECT_EQ(fault.message,
              "tag mismatch: rank 0 in [S1:f1.1] (step 1) sends f1.1, which arrives at rank 1 in [R0:b0.0] (step 1) as "
              "b0.0");
    EXPECT_EQ(rendezvous({{"[S1:f1.0]"}, {"[R0]"}}).kind, Kind::none);
}

TEST(CommProgram, ParsesSteps) {
    const CommProgram program = parse_comm_program({{"0F0", "[S1:f0, R2:b0]", "[R1]"}, {}, {}});
    EXPECT_EQ(program.ranks[0][0].compute, "0F0");
    EXPECT_EQ(program.ranks[0][1].ops, (std::vector<CommOp>{{true, 1, "f0"}, {false, 2, "b0"}}));
    EXPECT_EQ(program.ranks[0][2].ops, (std::vector<CommOp>{{false, 1, ""}}));
    EXPECT_EQ(to_string(program.ranks[0][1]), "[S1:f0,R2:b0]");
}

TEST(CommProgram, RefusesMalformedStepsAndNamesThem) {
    for (const char* text :
         {"", "[", "[]", "[S1", "[X1]", "[S]", "[Sx]", "[S1:a,]", "[S2:a]", "[S-1:a]", "[S0:a]", "[S99999999999:a]"}) {
        try {
            parse_comm_program({{"0F0", text}, {}});
            FAIL() << "accepted '" << text << "'";
        } catch (const InputError& error) {
            EXPECT_EQ(error.path(), "rank 0, step 1") << text;
        }
    }
}

TEST(CommProgram, DryRunOrderNeverHangs) {
    for (int p : {1, 2, 3, 4, 8}) {
        for (int groups : {1, 2, 4}) {
            const int m = p * groups;
            for (const Schedule& schedule : {naive_schedule(p, m), gpipe_schedule(p, m), one_f_one_b_schedule(p, m),
                                             interleaved_schedule(p, m, 2, p), interleaved_schedule(p, m, 3, p)}) {
                const CommProgram program = test::program_of(schedule, dry_run(schedule, unit_costs(schedule.stages)));
                const CommFault fault = check_rendezvous(program);
                EXPECT_EQ(fault.kind, Kind::none) << schedule.name << " p=" << p << " m=" << m << ": " << fault.message;
                EXPECT_EQ(check_in_order_pairs(program).kind, Kind::none);
            }
        }
    }
}

// Programs of other runtimes with what became of them; the file is not part of the repository.
TEST(CommProgramOracle, AgreesWithTheReferenceSimulator) {
    const char* data = std::getenv("FORESHARD_DATA");
    if (data == nullptr) GTEST_SKIP() << "FORESHARD_DATA is not set";
    std::ifstream file(std::string(data) + "/schedule_comm_oracles.jsonl");
    ASSERT_TRUE(file) << "cannot read schedule_comm_oracles.jsonl";
    int count = 0;
    for (std::string line; std::getline(file, line); ++count) {
        const auto oracle = nlohmann::json::parse(line);
        const CommFault fault = rendezvous(oracle.at("program").get<Steps>());
        EXPECT_EQ(fault.kind == Kind::none, oracle.at("completes").get<bool>()) << line << "\n" << fault.message;
        EXPECT_EQ(fault.kind == Kind::none, oracle.at("completes_single_blocking_stream").get<bool>());
        if (fault.kind == Kind::none) continue;
        EXPECT_EQ(fault.kind, Kind::cyclic_wait) << fault.message;
    }
    EXPECT_GT(count, 0);
    RecordProperty("programs", count);
}

}  // namespace
}  // namespace foreshard
