#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "sim/plan/schedules.hpp"

/// Weight versions and staleness of asynchronous pipelines (PipeDream, SOSP'19; PipeDream-2BW, arXiv 2006.09503).
namespace foreshard {
namespace {

TEST(PipeDream, HasNoBubbleInSteadyState) {
    for (const int p : {1, 2, 4, 8}) {
        for (const StageTimes::Stage& t : {StageTimes::Stage{1, 1, 1}, {2, 3, 1}, {1, 2, 3}, {7, 5, 11}}) {
            const Picoseconds both = t.forward + t.input_grad + t.weight_grad;
            const auto makespan = [&](int m) {
                return dry_run(pipedream_schedule(p, m),
                               {std::vector<StageTimes::Stage>(static_cast<std::size_t>(p), t), 0})
                    .makespan;
            };
            EXPECT_EQ(makespan(4 * p + 1) - makespan(4 * p), both);
        }
    }
}

/// Updates that a rank has applied before each forward, counted in its list: one after every `period` backwards.
std::vector<int> updates_seen(const std::vector<Action>& list, int period) {
    std::vector<int> seen;
    int backwards = 0;
    for (const Action& action : list) {
        if (action.pass == Pass::forward) seen.push_back(backwards / period);
        if (action.pass == Pass::backward) ++backwards;
    }
    return seen;
}

TEST(PipeDream, VersionsAreThoseOfTheReplayedList) {
    for (const int p : {1, 2, 3, 4, 8}) {
        const int m = 4 * p;
        const Schedule schedule = pipedream_schedule(p, m);
        for (int r = 0; r < p; ++r) {
            const std::vector<int> seen = updates_seen(schedule.actions[r], 1);
            std::vector<double> stale(static_cast<std::size_t>(p), 0.0);
            for (int k = 0; k < m; ++k) {
                EXPECT_EQ(pipedream_version(p, r, k), seen[k]);
                // Its gradient makes version k + 1 out of version k.
                if (k >= p) {
                    EXPECT_EQ(k - seen[k], p - 1 - r);
                }
            }
            // The stash holds a version for every micro-batch in flight.
            EXPECT_EQ(pipedream_versions_held(p, r), dry_run(schedule, unit_costs(p)).peak_in_flight[r]);
        }
        for (int k = 0; k < m; ++k) EXPECT_EQ(pipedream_version_synced(p, k), pipedream_version(p, 0, k));
    }
}

TEST(PipeDream, StalenessHistogramsSumToOne) {
    for (int p = 1; p <= 16; ++p) {
        const std::vector<double> shares = pipedream_staleness(p);
        EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1.0, 1e-12);
        ASSERT_EQ(shares.size(), static_cast<std::size_t>(p));
        std::vector<double> counted(static_cast<std::size_t>(p), 0.0);
        const int k = 5 * p;
        for (int r = 0; r < p; ++r) counted[k - pipedream_version(p, r, k)] += 1.0 / p;
        EXPECT_EQ(shares, counted);
    }
    EXPECT_EQ(pipedream_2bw_staleness(), (std::vector<double>{0.0, 1.0}));
}

TEST(PipeDream, DoubleBufferedVersionsFitTheOrder) {
    for (const int p : {2, 3, 4, 8}) {
        for (const int accumulate : {p - 1, p, 2 * p}) {
            const int m = 5 * accumulate;
            const Schedule schedule = pipedream_2bw_schedule(p, m);
            for (int r = 0; r < p; ++r) {
                const std::vector<int> seen = updates_seen(schedule.actions[r], accumulate);
                for (int k = 0; k < m; ++k) {
                    const int used = pipedream_2bw_version(accumulate, k);
                    EXPECT_LE(used, seen[k]) << "version not made yet";
                    EXPECT_LE(seen[k] - used, pipedream_2bw_versions_held - 1) << "version dropped already";
                }
            }
        }
    }
}

}  // namespace
}  // namespace foreshard
