#include "sim/cost/variation.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "sim/engine/evaluate.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard {
namespace {

TEST(Jitter, HasTheMeanAndDeviationAskedFor) {
    constexpr int draws = 20000;
    double sum = 0.0;
    double squares = 0.0;
    for (int task = 0; task < draws; ++task) {
        const double factor = jitter_factor({0.05, 42, 0, 1}, task);
        sum += factor;
        squares += (factor - 1.0) * (factor - 1.0);
    }
    EXPECT_NEAR(sum / draws, 1.0, 4 * 0.05 / std::sqrt(draws));
    EXPECT_NEAR(std::sqrt(squares / draws), 0.05, 0.001);
}

TEST(Jitter, OfAGroupIsThatOfItsSlowestMember) {
    // The mean largest of 8 standard normal draws is 1.4236 (Tippett 1925).
    constexpr int draws = 20000;
    double sum = 0.0;
    for (int task = 0; task < draws; ++task) sum += jitter_factor({0.01, 42, 0, 8}, task);
    EXPECT_NEAR(sum / draws, 1.014236, 0.0002);
}

TEST(Jitter, DependsOnSeedRunAndTaskOnly) {
    const Jitter jitter{0.05, 1, 2, 1};
    EXPECT_EQ(jitter_factor(jitter, 3), jitter_factor(jitter, 3));
    EXPECT_NE(jitter_factor(jitter, 3), jitter_factor(jitter, 4));
    EXPECT_NE(jitter_factor(jitter, 3), jitter_factor({0.05, 2, 2, 1}, 3));
    EXPECT_NE(jitter_factor(jitter, 3), jitter_factor({0.05, 1, 3, 1}, 3));
    // Held fixed so that results repeat on every machine and with every later version.
    EXPECT_NEAR(jitter_factor({1.0, 0, 0, 1}, 0), 0.7400454326118804, 1e-12);
}

TEST(SpeedFactor, ScalesKernelsAndNothingElse) {
    JobRequest request = test::tiny_request(1, 2);
    request.model = "gpt3-6.7b";
    request.num_layers = 2;
    request.tp = 2;
    request.gpus = 2;
    request.software = "megatron-2022";
    const Evaluation even = evaluate(test::valid_job(request));
    request.speed_factor = "0.5";
    const Evaluation slow = evaluate(test::valid_job(request));
    for (std::size_t i = 0; i < even.graph.tasks.size(); ++i) {
        const auto id = static_cast<std::int32_t>(i);
        if (even.graph.tasks[i].work < 0) continue;
        const WorkDuration& work = even.durations.works[static_cast<std::size_t>(even.graph.tasks[i].work)];
        const Picoseconds kernels = work.spent[static_cast<std::size_t>(Spent::compute)] +
                                    work.spent[static_cast<std::size_t>(Spent::recompute)];
        EXPECT_NEAR(static_cast<double>(task_time(slow.graph, slow.durations, id)),
                    static_cast<double>(work.total() + kernels), 1e-6 * static_cast<double>(work.total()) + 2.0);
    }
}

TEST(LinkFactor, SlowNvlinkStretchesCollectivesInsidePasses) {
    JobRequest request = test::tiny_request(1, 2);
    request.model = "gpt3-6.7b";
    request.num_layers = 2;
    request.tp = 2;
    request.gpus = 2;
    request.software = "megatron-2022";
    const Evaluation even = evaluate(test::valid_job(request));
    request.link_factor = "nvlink1:0.5";
    const Evaluation slow = evaluate(test::valid_job(request));
    EXPECT_GT(slow.timeline.step_time(), even.timeline.step_time());
    const Picoseconds tp = even.report.ranks[0].account[static_cast<std::size_t>(Account::exposed_tp)];
    EXPECT_LE(slow.timeline.step_time() - even.timeline.step_time(), tp);
    request.link_factor = "nic:0.5";
    EXPECT_EQ(evaluate(test::valid_job(request)).timeline.step_time(), even.timeline.step_time());
}

}  // namespace
}  // namespace foreshard
