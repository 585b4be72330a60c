#include "sim/engine/stoppable.hpp"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "sim/engine/balance.hpp"
#include "sim/engine/fluid.hpp"
#include "sim/json_report.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard {
namespace {

std::stop_token requested() {
    std::stop_source stop;
    stop.request_stop();
    return stop.get_token();
}

TEST(Stoppable, WithoutARequestItIsEvaluate) {
    const Job job = test::valid_job(test::tiny_request(4, 8));
    const std::stop_source stop;
    EXPECT_EQ(report_json(evaluate(job, stop.get_token()), {"test", {}}), report_json(evaluate(job), {"test", {}}));
}

// A hundred thousand runs take minutes; the request comes while they are under way.
TEST(Stoppable, ARequestEndsARunThatHasBegun) {
    JobRequest request = test::tiny_request(4, 8);
    request.runs = 100'000;
    request.jitter_pct = 5.0;
    const Job job = test::valid_job(request);
    std::stop_source stop;
    const std::jthread asker([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        stop.request_stop();
    });
    EXPECT_THROW(evaluate(job, stop.get_token()), Stopped);
}

TEST(Stoppable, SharedLinksAndBalancingLookAtIt) {
    JobRequest request = test::tiny_request(4, 8);
    request.contention = "full";
    const Evaluation e = evaluate(test::valid_job(request));
    EXPECT_THROW(simulate_fluid(e.graph, e.durations, e.flows, {}, requested()), Stopped);
    request = test::tiny_request(4, 8);
    request.balance = true;
    EXPECT_THROW(evaluate_balanced(test::valid_job(request), requested()), Stopped);
    EXPECT_THROW(balanced_layout(test::valid_job(request), requested()), Stopped);
}

}  // namespace
}  // namespace foreshard
