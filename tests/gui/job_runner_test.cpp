#include "gui/app/job_runner.hpp"

#include <QSignalSpy>
#include <QTest>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "sim/spec/catalogue.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard::gui {
namespace {

constexpr int patience_ms = 30'000;

JobRequest withTp(int tp) {
    JobRequest request;
    request.tp = tp;
    return request;
}

/// An outcome that says which request it is of.
Outcome echo(const std::string& /*name*/, const JobRequest& request, const std::stop_token& /*stop*/ = {}) {
    Outcome outcome;
    outcome.error = std::to_string(*request.tp);
    return outcome;
}

TEST(JobRunner, EditsWithinTheDebounceAreOne) {
    std::atomic<int> calls = 0;
    JobRunner runner([&](const std::string& name, const JobRequest& request, const std::stop_token&) {
        ++calls;
        return echo(name, request);
    });
    QSignalSpy finished(&runner, &JobRunner::finished);
    for (int tp = 1; tp <= 20; ++tp) runner.submit("plan", withTp(tp));
    EXPECT_TRUE(runner.busy());
    ASSERT_TRUE(finished.wait(patience_ms));
    EXPECT_EQ(runner.take()->error, "20");
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(runner.busy());
    EXPECT_FALSE(runner.take());
}

/// The first simulation is held until the second was asked for: its result must never be seen.
TEST(JobRunner, StaleResultsAreDropped) {
    std::promise<void> begun;
    std::promise<void> release;
    std::shared_future<void> released = release.get_future().share();
    JobRunner runner([&](const std::string& name, const JobRequest& request, const std::stop_token&) {
        if (*request.tp == 1) {
            begun.set_value();
            released.wait();
        }
        return echo(name, request);
    });
    QSignalSpy finished(&runner, &JobRunner::finished);
    runner.submit("plan", withTp(1));
    std::future<void> started = begun.get_future();
    while (started.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) QTest::qWait(1);
    runner.submit("plan", withTp(2));
    QTest::qWait(2 * JobRunner::debounce_ms);  // the second waits behind the first
    runner.submit("plan", withTp(3));
    release.set_value();
    ASSERT_TRUE(finished.wait(patience_ms));
    EXPECT_EQ(runner.take()->error, "3");
    QTest::qWait(2 * JobRunner::debounce_ms);
    EXPECT_EQ(finished.count(), 1);
    EXPECT_GE(runner.dropped(), 1);
}

/// A simulation that works until it is stopped: 1 for the first request, at once for others.
class UntilStopped {
public:
    Outcome operator()(const std::string& name, const JobRequest& request, const std::stop_token& stop) {
        if (*request.tp != 1) return echo(name, request);
        ++begun;
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
        while (!stop.stop_requested() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        if (stop.stop_requested()) ++stopped;
        return echo(name, request);
    }
    JobRunner::Simulate function() {
        return [this](const std::string& name, const JobRequest& request, const std::stop_token& stop) {
            return (*this)(name, request, stop);
        };
    }

    std::atomic<int> begun = 0;
    std::atomic<int> stopped = 0;
};

TEST(JobRunner, AStaleSimulationIsStopped) {
    UntilStopped work;
    JobRunner runner(work.function());
    QSignalSpy finished(&runner, &JobRunner::finished);
    runner.submit("plan", withTp(1));
    ASSERT_TRUE(QTest::qWaitFor([&] { return work.begun == 1; }, patience_ms));
    runner.submit("plan", withTp(2));
    ASSERT_TRUE(finished.wait(patience_ms));
    EXPECT_EQ(work.stopped, 1);
    EXPECT_EQ(runner.take()->error, "2");
}

TEST(JobRunner, ACancelledSimulationIsStopped) {
    UntilStopped work;
    JobRunner runner(work.function());
    runner.submit("plan", withTp(1));
    ASSERT_TRUE(QTest::qWaitFor([&] { return work.begun == 1; }, patience_ms));
    runner.cancel();
    EXPECT_TRUE(QTest::qWaitFor([&] { return work.stopped == 1; }, patience_ms));
}

TEST(JobRunner, ItsEndStopsASimulation) {
    UntilStopped work;
    {
        JobRunner runner(work.function());
        runner.submit("plan", withTp(1));
        ASSERT_TRUE(QTest::qWaitFor([&] { return work.begun == 1; }, patience_ms));
    }
    EXPECT_EQ(work.stopped, 1);
}

TEST(JobRunner, NothingIsDeliveredAfterCancel) {
    JobRunner runner(echo);
    QSignalSpy finished(&runner, &JobRunner::finished);
    runner.submit("plan", withTp(1));
    runner.cancel();
    EXPECT_FALSE(runner.busy());
    QTest::qWait(3 * JobRunner::debounce_ms);
    EXPECT_EQ(finished.count(), 0);
    runner.submit("plan", withTp(2));
    ASSERT_TRUE(finished.wait(patience_ms));
    EXPECT_EQ(runner.take()->error, "2");
}

TEST(JobRunner, ARunnerMayGoWhileItWorks) {
    for (int i = 0; i < 5; ++i) {
        JobRunner runner(echo);
        runner.submit("plan", withTp(i));
        QTest::qWait(JobRunner::debounce_ms);
    }
}

TEST(TryRequest, OneThatWasStoppedSaysNothing) {
    std::stop_source stop;
    stop.request_stop();
    const Outcome outcome = tryRequest("a", load_job_request("gpt-tiny-pp4"), stop.get_token());
    EXPECT_FALSE(outcome.document);
    EXPECT_TRUE(outcome.broken.empty());
    EXPECT_EQ(outcome.error, "");
}

TEST(TryRequest, BadInputAndBrokenRulesAreValues) {
    const JobRequest plan = load_job_request("gpt-tiny-pp4");
    EXPECT_TRUE(tryRequest("a", plan).document);

    const Outcome unknown = tryRequest("a", with_value(plan, "schedule", "1f1bb"));
    EXPECT_FALSE(unknown.document);
    EXPECT_EQ(unknown.flag, "--schedule");
    EXPECT_NE(unknown.error.find("1f1bb"), std::string::npos);

    const Outcome broken = tryRequest("a", with_value(plan, "pp", "3"));
    EXPECT_FALSE(broken.document);
    ASSERT_FALSE(broken.broken.empty());
    EXPECT_TRUE(broken.error.empty());
}

}  // namespace
}  // namespace foreshard::gui
