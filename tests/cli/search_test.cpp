#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

/// foreshard search as scripts see it.

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using foreshard::test::Outcome;

class SearchProgram : public foreshard::test::ProgramTest {
protected:
    SearchProgram() : ProgramTest(FORESHARD_PROGRAM) {}
};

constexpr const char* small = "search --model gpt-tiny --cluster dgx-a100-80g --gpus 8 --gbs 16 ";

TEST_F(SearchProgram, PrintsPlansThatSimulateAgrees) {
    const Outcome found = run(std::string(small) + "--tp 1..2 --threads 2 --top 3");
    EXPECT_EQ(found.code, 0) << found.err;
    EXPECT_EQ(found.err, "") << "progress belongs to terminals";
    const std::size_t at = found.out.find("foreshard simulate ");
    ASSERT_NE(at, std::string::npos) << found.out;
    const std::string command = found.out.substr(at + 10, found.out.find('\n', at) - at - 10);
    const Outcome simulated = run(command + " --json -");
    EXPECT_EQ(simulated.code, 0) << simulated.err;
    const nlohmann::json report = nlohmann::json::parse(simulated.out);
    const nlohmann::json search = nlohmann::json::parse(run(std::string(small) + "--tp 1..2 --top 3 --json -").out);
    EXPECT_EQ(search.at("plans").at(0).at("summary"), report.at("summary"));
    EXPECT_EQ(search.at("plans").at(0).at("summary").at("fits"), true);
}

TEST_F(SearchProgram, TakesListsRangesAndFixedValues) {
    const Outcome found =
        run(std::string(small) + "--tp 2 --fix pp=2 --fix overlap_p2p=true --schedule 1f1b --recompute full --json -");
    EXPECT_EQ(found.code, 0) << found.err;
    const nlohmann::json search = nlohmann::json::parse(found.out);
    for (const auto& plan : search.at("plans")) {
        EXPECT_EQ(plan.at("plan").at("tp"), 2);
        EXPECT_EQ(plan.at("plan").at("pp"), 2);
        EXPECT_EQ(plan.at("plan").at("schedule"), "1f1b");
        EXPECT_EQ(plan.at("plan").at("recompute"), "full");
    }
    EXPECT_EQ(search.at("job").at("plan").at("overlap_p2p"), true);
    EXPECT_EQ(run(std::string(small) + "--no-sp --csv -").out.find("tp,cp,ep,pp,dp,vpp,mbs,sp,"), 0U);
}

TEST_F(SearchProgram, VariesWhatTheDefaultSpaceKeeps) {
    const Outcome found =
        run(std::string(small) +
            "--tp 2 --pp 1,2 --schedule none,1f1b --mbs 1 --recompute full,partial --recompute-method "
            "block --overlap-grad-reduce on,off --no-offload-optimizer --order "
            "tp-cp-ep-dp-pp,tp-cp-ep-pp-dp --precision bf16,fp16 --no-sp --zero 1 --top 400 --json -");
    EXPECT_EQ(found.code, 0) << found.err;
    std::set<std::string> seen;
    const nlohmann::json search = nlohmann::json::parse(found.out);
    for (const auto& entry : search.at("plans")) {
        const auto& plan = entry.at("plan");
        seen.insert(plan.at("precision").get<std::string>());
        seen.insert(plan.at("order").get<std::string>());
        seen.insert(plan.at("overlap_grad_reduce").get<bool>() ? "overlap" : "apart");
        EXPECT_EQ(plan.at("offload_optimizer"), false);
    }
    EXPECT_EQ(seen, (std::set<std::string>{"apart", "bf16", "fp16", "overlap", "tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"}));
}

TEST_F(SearchProgram, CountsNodes) {
    const char* job = "search --model gpt-tiny --cluster dgx-a100-80g --gbs 16 --tp 2 --mbs 1 --json - ";
    const Outcome found = run(std::string(job) + "--nodes 2");
    EXPECT_EQ(found.code, 0) << found.err;
    EXPECT_EQ(nlohmann::json::parse(found.out).at("job").at("gpus"), 16);
    EXPECT_THAT(run(std::string(job) + "--nodes 2 --gpus 8").err,
                HasSubstr("2 nodes of 8 GPUs have 16, but --gpus is 8"));
}

TEST_F(SearchProgram, SaysWhatToRelaxAndExitsWith3) {
    const Outcome none =
        run("search --model llama3-8b --cluster dgx-h100 --gpus 8 --gbs 8 --tp 1 --pp 1 --zero 0 --recompute full");
    EXPECT_EQ(none.code, 3);
    EXPECT_THAT(none.err, HasSubstr("no plan is feasible"));
    EXPECT_THAT(none.err, HasSubstr("the plan that needs least takes "));
    EXPECT_THAT(none.err, HasSubstr("in place of 1: then the best step takes "));
    const Outcome brief =
        run("search --model llama3-8b --cluster dgx-h100 --gpus 8 --gbs 8 --tp 1 --pp 1 --zero 0 --recompute full "
            "--no-relax");
    EXPECT_EQ(brief.code, 3);
    EXPECT_THAT(brief.err, Not(HasSubstr("then the best step takes ")));
}

TEST_F(SearchProgram, RefusesWhatIsNotBuilt) {
    const auto refused = [&](const std::string& flags, const std::string& reason) {
        const Outcome outcome = run(small + flags);
        EXPECT_EQ(outcome.code, 2) << flags;
        EXPECT_THAT(outcome.err, HasSubstr(reason)) << flags;
    };
    refused("--objective cost-per-token", "not part of this version");
    refused("--space huge", "default or full");
    refused("--contention links", "is not searched over");
    refused("--offload-optimizer", "is not searched over");
    refused("--schedule pipedream", "changes the numerics");
    refused("--fix tp", "is not of the form key=value");
    refused("--fix tpp=1", "did you mean --tp?");
    refused("--max-memory-gib 0", "must be positive");
    refused("--tp two", "is no whole number");
    refused("--top 0", "at least 1 plan");
}

TEST_F(SearchProgram, SaysWhichValuesOfAJobItVaries) {
    const Outcome found = run("search --job gpt-tiny-pp4 --top 1");
    EXPECT_EQ(found.code, 0) << found.err;
    EXPECT_THAT(found.err, HasSubstr("warning: the search varies what the job says: "));
    EXPECT_THAT(found.err, HasSubstr("pp 4"));
}

/// The best so far is printed.
TEST_F(SearchProgram, StopsOnInterrupt) {
    const Outcome stopped =
        run("search --model llama3-405b --cluster dgx-h100 --gpus 16384 --gbs 2048 --space full --top 1000 --threads 1",
            "timeout --foreground --preserve-status -s INT 2 ");
    EXPECT_EQ(stopped.code, 130) << stopped.err;
    EXPECT_THAT(stopped.err, HasSubstr("interrupted"));
    EXPECT_THAT(stopped.out, HasSubstr("plans bounded"));
    EXPECT_THAT(stopped.err, Not(HasSubstr("no plan is feasible")));
}

}  // namespace
