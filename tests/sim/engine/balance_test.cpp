#include "sim/engine/balance.hpp"

#include <functional>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "sim/spec/schedule_kinds.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard {
namespace {

JobRequest balance_request(const std::string& schedule, int pp, int vpp, int layers, int m) {
    JobRequest request = test::tiny_request(pp, m);
    request.model = "gpt3-6.7b";
    request.num_layers = layers;
    request.schedule = schedule;
    request.vpp = vpp;
    request.overlap_p2p = true;
    request.balance = true;
    return request;
}

/// Calls use(counts) for every way to spread layers over stages, with at least one on every stage between the ends.
void each_split(int layers, int stages, const std::function<void(const std::vector<int>&)>& use) {
    std::vector<int> counts(static_cast<std::size_t>(stages), 0);
    const std::function<void(int, int)> place = [&](int stage, int left) {
        if (stage + 1 == stages) {
            counts[static_cast<std::size_t>(stage)] = left;
            use(counts);
            return;
        }
        for (int n = stage == 0 ? 0 : 1; n <= left; ++n) {
            counts[static_cast<std::size_t>(stage)] = n;
            place(stage + 1, left - n);
        }
    };
    place(0, layers);
}

double shortest_step(const JobRequest& balanced, int layers, int stages) {
    double best = std::numeric_limits<double>::infinity();
    each_split(layers, stages, [&](const std::vector<int>& counts) {
        JobRequest request = balanced;
        request.balance.reset();
        std::string layout;
        for (const int n : counts) layout += (layout.empty() ? "" : ",") + std::to_string(n);
        request.layout = layout;
        best = std::min(best, evaluate(test::valid_job(request)).report.summary.step_time_ms);
    });
    return best;
}

TEST(Balance, FindsTheSplitThatBruteForceFinds) {
    for (const int m : {2, 6, 16}) {
        for (const int pp : {2, 3, 4}) {
            const JobRequest request = balance_request("1f1b", pp, 1, 9, m);
            const double found = evaluate(test::valid_job(request)).report.summary.step_time_ms;
            EXPECT_DOUBLE_EQ(found, shortest_step(request, 9, pp)) << "pp " << pp << " m " << m;
        }
    }
}

TEST(Balance, FindsTheSplitOfChunksAndOfGpipe) {
    const JobRequest chunks = balance_request("interleaved-1f1b", 2, 2, 8, 8);
    EXPECT_DOUBLE_EQ(evaluate(test::valid_job(chunks)).report.summary.step_time_ms, shortest_step(chunks, 8, 4));
    const JobRequest gpipe = balance_request("gpipe", 4, 1, 10, 4);
    EXPECT_DOUBLE_EQ(evaluate(test::valid_job(gpipe)).report.summary.step_time_ms, shortest_step(gpipe, 10, 4));
}

TEST(Balance, KeepsEveryLayerAndSaysWhatItGained) {
    for (const int layers : {12, 17, 31}) {
        const Evaluation e = evaluate(test::valid_job(balance_request("1f1b", 4, 1, layers, 16)));
        ASSERT_TRUE(e.report.balance.has_value());
        const Balance& balance = *e.report.balance;
        EXPECT_EQ(std::accumulate(balance.layers.begin(), balance.layers.end(), 0), layers);
        EXPECT_GE(balance.gain_ms, 0.0);
        EXPECT_DOUBLE_EQ(balance.even_step_time_ms - balance.gain_ms, e.report.summary.step_time_ms);
        EXPECT_EQ(e.job.plan.layout, to_string(e.graph.layout)) << "the job that ran can be run again";
    }
}

TEST(Balance, RelievesTheStageWithTheLossHead) {
    JobRequest request = balance_request("1f1b", 4, 1, 32, 32);
    request.vocab_size = 256000;
    const Evaluation e = evaluate(test::valid_job(request));
    EXPECT_LT(e.report.balance->layers.back(), 8);
    EXPECT_GT(e.report.balance->gain_ms, 0.0);
}

/// Uneven splits under every schedule: layers that no even split could take, all kept, and never slower than even.
TEST(Balance, WorksUnderEverySchedule) {
    for (const ScheduleTraits& traits : schedule_kinds()) {
        if (traits.kind == ScheduleKind::none) continue;
        JobRequest request = balance_request(std::string(traits.id), 4, traits.chunks, 19, 16);
        request.num_layers = 19;
        const Evaluation e = evaluate(test::valid_job(request));
        ASSERT_TRUE(e.report.balance.has_value()) << traits.id;
        const std::vector<int>& layers = e.report.balance->layers;
        EXPECT_EQ(std::accumulate(layers.begin(), layers.end(), 0), 19) << traits.id;
        EXPECT_GE(e.report.balance->gain_ms, 0.0) << traits.id;
    }
}

TEST(Balance, IsRefusedWhereItContradicts) {
    const auto refused = [](JobRequest request, const std::string& fields) {
        const std::vector<BrokenRule> broken = check(resolve(request));
        return !broken.empty() && broken.front().fields.find(fields) != std::string::npos;
    };
    JobRequest layout = balance_request("1f1b", 2, 1, 8, 4);
    layout.layout = "4,4";
    EXPECT_TRUE(refused(layout, "layout, balance"));
    JobRequest ends = balance_request("1f1b", 2, 1, 8, 4);
    ends.decoder_first_pipeline_num_layers = 3;
    EXPECT_TRUE(refused(ends, "balance"));
    EXPECT_TRUE(refused(balance_request("1f1b", 8, 1, 7, 8), "balance, num_layers"));
}

}  // namespace
}  // namespace foreshard
