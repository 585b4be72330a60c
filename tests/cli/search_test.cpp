#include <set>
#include <sstream>

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
    std::string plans_file() const { return (folder_ / "plans.json").string(); }
};

void expect_refusal(const Outcome& outcome, const std::string& flags, const std::string& reason) {
    EXPECT_EQ(outcome.code, 2) << flags;
    EXPECT_THAT(outcome.err, HasSubstr(reason)) << flags;
}

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

TEST_F(SearchProgram, TellsWhyNeighboursLose) {
    const Outcome found = run(std::string(small) + "--tp 1..2 --cp 1 --top 1");
    EXPECT_EQ(found.code, 0) << found.err;
    EXPECT_THAT(found.out, HasSubstr("why not"));
    EXPECT_THAT(found.out, HasSubstr("recompute none -> full"));
    EXPECT_THAT(run(std::string(small) + "--tp 1..2 --cp 1 --top 1 --no-explain").out, Not(HasSubstr("why not")));
    const Outcome sensitive = run(std::string(small) + "--tp 1..2 --cp 1 --top 1 --no-explain --sensitivity");
    EXPECT_THAT(sensitive.out, HasSubstr("memory bandwidth     x0.8"));
}

TEST_F(SearchProgram, WritesPlansAsTheyAreFound) {
    const Outcome lines = run(std::string(small) + "--tp 1..2 --top 3 --jsonl - --verbose --json " + plans_file());
    EXPECT_EQ(lines.code, 0) << lines.err;
    EXPECT_THAT(lines.err, HasSubstr("best so far"));
    std::istringstream in(lines.out);
    nlohmann::json best;
    for (std::string line; std::getline(in, line);) {
        const nlohmann::json plan = nlohmann::json::parse(line);
        if (plan.at("best") == true) best = plan.at("summary");
    }
    const nlohmann::json search = nlohmann::json::parse(foreshard::test::read_file(plans_file()));
    EXPECT_EQ(best, search.at("plans").at(0).at("summary"));
    EXPECT_EQ(run(std::string(small) + "--jsonl missing/plans.jsonl").code, 2);
}

/// A plan of a search is exported as its flags are.
TEST_F(SearchProgram, ItsPlansAreExported) {
    const Outcome found = run(std::string(small) + "--tp 1..2 --schedule 1f1b --top 3 --csv - --json " + plans_file());
    EXPECT_EQ(found.code, 0) << found.err;
    std::istringstream rows(found.out);
    std::string row;
    for (int i = 0; i < 3; ++i) std::getline(rows, row);  // the head, the first, the second
    const std::size_t flags = row.rfind("\"--model");
    ASSERT_NE(flags, std::string::npos) << row;
    const std::string second = row.substr(flags + 1, row.size() - flags - 2);
    const Outcome by_rank = run("export --format megatron-args --rank 2 --search " + plans_file());
    EXPECT_EQ(by_rank.code, 0) << by_rank.err;
    EXPECT_EQ(by_rank.out, run("export --format megatron-args " + second).out);
    EXPECT_EQ(run("export --format torchtitan --precision bf16 --search " + plans_file()).code, 0);
    const auto refused = [&](const std::string& arguments, const std::string& reason) {
        const Outcome outcome = run("export --format megatron-args " + arguments);
        EXPECT_EQ(outcome.code, 2) << arguments;
        EXPECT_THAT(outcome.err, HasSubstr(reason));
    };
    refused("--rank 0 --search " + plans_file(), "has plans 1 to ");
    refused("--rank 99 --search " + plans_file(), "plans.json has plans 1 to ");
    refused("--job gpt-tiny-pp4 --search " + plans_file(), "the plan comes from one of them");
    refused("--job gpt-tiny-pp4 --rank 2", "give --search too");
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
                HasSubstr("--nodes: and --gpus say the same: give one of them"));
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
        expect_refusal(run(small + flags), flags, reason);
    };
    refused("--objective cost", "'cost': valid are step-time, tokens-per-s-per-gpu, cost-per-token");
    refused("--objective cost-per-token", "says no price; give --price-usd-per-gpu-hour");
    refused("--objective energy-per-token --gpu-idle-w 90", "give --gpu-busy-w");
    refused("--objective time-to-train --node-mtbf-h 5000 --restart-s 60 --checkpoint-s 9", "give --train-tokens");
    refused("--gpu-idle-w 300 --gpu-busy-w 200", "200 is less than gpu_idle_W, 300");
    refused("--nodes 1", "and --gpus say the same");
    refused("--space huge", "default or full");
    refused("--contention links", "is not searched over");
    refused("--calibration mine.json --sensitivity", "--sensitivity: scales figures of the hardware");
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

constexpr const char* sizes = "search --model gpt-tiny --cluster dgx-a100-80g --schedule 1f1b --cp 1 --top 2 ";

TEST_F(SearchProgram, SweepsSizesToAScalingCurve) {
    const Outcome found = run(std::string(sizes) + "--gpus 4..16 --gbs 16 --price-usd-per-gpu-hour 2 --objective " +
                              "cost-per-token --json -");
    EXPECT_EQ(found.code, 0) << found.err;
    EXPECT_EQ(found.err, "");
    const nlohmann::json search = nlohmann::json::parse(found.out);
    ASSERT_EQ(search.at("sweep").size(), 3U);
    EXPECT_EQ(search.at("sweep").at(1).at("gpus"), 8);
    EXPECT_EQ(search.at("objective"), "cost-per-token");
    EXPECT_EQ(search.at("operation").at("price_usd_per_gpu_hour"), 2.0);
    const nlohmann::json& best = search.at("plans").at(0);
    const nlohmann::json single =
        nlohmann::json::parse(run(std::string(sizes) + "--gpus " + best.at("gpus").dump() + " --gbs 16 --json -").out);
    EXPECT_EQ(single.at("plans").at(0).at("summary"), best.at("summary"));
    EXPECT_THAT(run(std::string(sizes) + "--nodes 1,2 --gbs 8..16").out, HasSubstr("4 sizes: "));
    EXPECT_EQ(run(std::string(sizes) + "--nodes 1,2 --gbs 16 --csv -").out.find("gpus,global_batch_size,rank,"), 0U);
}

/// What is taken for 0 because nobody said it is told.
TEST_F(SearchProgram, TellsWhatEnergyLeavesOut) {
    const std::string energy =
        std::string(sizes) + "--gbs 16 --objective energy-per-token --gpu-idle-w 90 --gpu-busy-w 400 ";
    EXPECT_THAT(run(energy + "--gpus 8").out, HasSubstr("of GPUs only; --node-rest-w adds"));
    EXPECT_THAT(run(energy + "--gpus 4,8").out, HasSubstr("of GPUs only; --node-rest-w adds"));
    EXPECT_THAT(run(energy + "--gpus 8 --node-rest-w 1500").out, Not(HasSubstr("of GPUs only")));
}

TEST_F(SearchProgram, TellsOfSweepsWhatItTellsOfSearches) {
    const Outcome lines = run(std::string(sizes) + "--gpus 4,8 --gbs 16 --jsonl - --verbose --json " + plans_file());
    EXPECT_EQ(lines.code, 0) << lines.err;
    EXPECT_THAT(lines.err, HasSubstr("8 GPUs, batch 16: best so far"));
    EXPECT_THAT(lines.out, HasSubstr(R"({"gpus":8,"evaluated":)"));
    const nlohmann::json all = nlohmann::json::parse(foreshard::test::read_file(plans_file()));
    EXPECT_EQ(all.at("neighbours").at(0).at("gpus"), all.at("plans").at(0).at("gpus"));
    const std::string few = std::string(sizes) + "--gpus 4,8 --gbs 16 ";
    EXPECT_THAT(run(few + "--sensitivity").out, AllOf(HasSubstr("why not"), HasSubstr("memory bandwidth     x0.8")));
    EXPECT_THAT(run(few + "--no-explain").out, Not(HasSubstr("why not")));
}

TEST_F(SearchProgram, RefusesMalformedSizes) {
    const auto refused = [&](const std::string& flags, const std::string& reason) {
        expect_refusal(run(sizes + flags), flags, reason);
    };
    refused("--gbs 16", "--gpus");
    refused("--gpus 8..4 --gbs 16", "runs downwards");
    refused("--gpus 9..15 --gbs 16", "holds no size");
    refused("--gpus 8 --gbs many", "--gbs: 'many' in 'many' is no whole number");
}

TEST_F(SearchProgram, SaysWhyNoSizeHasAPlan) {
    const Outcome none = run("search --model llama3-8b --cluster dgx-h100 --gpus 1,2 --gbs 8 --tp 1 --pp 1 --zero 0");
    EXPECT_EQ(none.code, 3);
    EXPECT_THAT(none.err, HasSubstr("1 GPUs, batch 8: no plan fits: "));
    EXPECT_THAT(none.err, HasSubstr("2 GPUs, batch 8: no plan fits: "));
    EXPECT_THAT(none.err, HasSubstr("then the best step takes "));
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
