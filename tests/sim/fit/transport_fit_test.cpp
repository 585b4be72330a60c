#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "sim/fit/calibration_fit.hpp"
#include "sim/fit/comm_fit.hpp"
#include "sim/fit/lead_fit.hpp"
#include "sim/fit/merge.hpp"
#include "sim/fit/quality.hpp"
#include "sim/prefixes.hpp"

/// What ways of communication differ in, what ranks wait for each other, and the band of whole steps.
namespace foreshard {
namespace {

/// Messages of 1 us + S / 8 GB/s in a cache of 1 MB and of S / 2 GB/s beyond.
std::vector<CommPoint> two_rates(bool in_step, double later_us) {
    std::vector<CommPoint> points;
    for (double bytes = 512.0; bytes < 1e8; bytes *= 4.0) {
        const double time = bytes < 1e6 ? 1.0 + bytes / 8e3 : bytes / 2e3;
        points.push_back({CollectiveKind::send_recv, 2, bytes, time + later_us, {0, 0}, in_step});
    }
    return points;
}

TEST(CalibrationFit, CommunicationOffItsLawBecomesACurve) {
    Measurements measured;
    measured.inputs.push_back({.file = "a.json", .kind = "foreshard.microbench"});
    measured.communication = two_rates(false, 0.0);
    const Calibration found = fit_calibration(measured, "x");
    ASSERT_TRUE(found.messages);
    const CommTable* table = find_table(found, CollectiveKind::send_recv, 2);
    ASSERT_NE(table, nullptr);
    ASSERT_EQ(table->points.size(), measured.communication.size());
    for (const CommPoint& point : measured.communication) {
        const Seconds time = table_time(table->points, point.bytes, [](double bytes) { return Seconds(bytes * 1e-9); });
        EXPECT_NEAR(time.value / micro / point.time_us, 1.0, 1e-9) << point.bytes;
    }
    ASSERT_EQ(found.residuals.size(), 1U);
    EXPECT_NEAR(found.residuals.front().p90_abs_pct, 0.0, 1e-6) << "of the curve, by size";
    EXPECT_GE(found.residuals.front().sizes.size(), 5U);
    EXPECT_GT(found.bands.front().p90_ratio, 1.05) << "a point without itself lies between its neighbours";
}

/// What lies in steps takes 30 us longer: the benchmarks, which have other sizes too, are moved by as much.
TEST(CalibrationFit, BenchmarksOfCommunicationAreMovedToWhatItTakesInSteps) {
    std::vector<CommPoint> points = two_rates(false, 0.0);
    const std::size_t alone = points.size();
    for (const CommPoint& point : two_rates(true, 30.0)) {
        if (point.bytes > 1e4 && point.bytes < 1e6) points.push_back(point);
    }
    const std::vector<CommPoint> moved = as_in_steps(points);
    for (std::size_t i = 0; i < moved.size(); ++i) {
        EXPECT_NEAR(moved[i].time_us, points[i].time_us + (i < alone ? 30.0 : 0.0), 1e-9);
    }
    const std::vector<CommPoint> only = two_rates(false, 0.0);
    EXPECT_EQ(as_in_steps(only).back().time_us, only.back().time_us);
}

TEST(RankLeadFit, GoesThroughPassesAndSteps) {
    const auto exponent = [](double pass_ratio, double step_ratio) {
        return fit_rank_lead({{1e3, pass_ratio, false}, {1e5, step_ratio, true}}).value().exponent;
    };
    EXPECT_NEAR(exponent(0.1, 0.01), 0.5, 1e-12) << "a hundred times the time, a tenth of the ratio";
    EXPECT_NEAR(exponent(0.1, 0.1 / std::sqrt(10.0)), 0.25, 1e-12);
    EXPECT_NEAR(exponent(0.1, 0.1), 0.0, 1e-12);
    EXPECT_EQ(exponent(0.1, 0.2), 0.0);
    EXPECT_EQ(exponent(0.1, 0.001), 0.5);
    EXPECT_EQ(fit_rank_lead({{1e3, 0.1, false}}).value().exponent, 0.5);
    EXPECT_NEAR(fit_rank_lead({{1e5, 0.02, true}}).value().after.value, 0.1, 1e-12);
    EXPECT_FALSE(fit_rank_lead({}));
    EXPECT_FALSE(fit_rank_lead({{1e3, 0.0, false}}));
}

/// A run of one way of communication, whose ops take so much longer than bytes / (1 GB/s).
Measurements run_with(const std::string& comm, double longer) {
    Measurements run;
    run.machine.comm = comm;
    run.machine.dtype = "fp32";
    run.inputs.push_back({.file = comm + ".json", .kind = "foreshard.report"});
    for (const double bytes : {1e6, 2e6, 4e6}) {
        OpPoint point{"norm", 0.0, bytes, longer * bytes / 1e3, 1.0, {0, 0}};
        point.calls = 10.0;
        run.ops.push_back(point);
    }
    run.communication.push_back({CollectiveKind::all_reduce, 2, 1e6, comm == "mpi" ? 900.0 : 300.0, {0, 0}, true});
    return run;
}

/// Laws lie between the two; with the ratio each way of communication has its own times again.
TEST(CalibrationFit, PooledOpsKeepAFactorOfTheirTransport) {
    const Measurements threads = run_with("threads", 1.0);
    const Measurements mpi = run_with("mpi", 1.04);
    for (const Measurements* own : {&threads, &mpi}) {
        const Calibration found = fit_calibration(merged({&threads, &mpi}, own->machine.comm), "x");
        ASSERT_TRUE(found.transport_ratio);
        const OpPoint& point = own->ops[1];
        const Seconds law = law_time(*find_law(found, "norm"), Flops(0.0), Bytes(point.bytes));
        EXPECT_NEAR(law.value * *found.transport_ratio / micro / point.time_us, 1.0, 1e-9);
        ASSERT_EQ(found.collectives.size(), 1U);
        EXPECT_NEAR(1e6 / found.collectives.front().bandwidth.value / micro, own->communication.front().time_us, 1e-6);
    }
    EXPECT_FALSE(fit_calibration(merged({&mpi}, "mpi"), "x").transport_ratio);
    EXPECT_EQ(merged({&threads, &mpi}, "tcp").communication.size(), 2U) << "of all, where none has it";
}

/// The share of fresh plans inside the band of n others, over many draws: 80 +- 5 %.
TEST(StepBand, HoldsFourFifthsOfFreshPlans) {
    std::mt19937_64 engine(7);
    std::normal_distribution<double> error(0.03, 0.04);
    for (const int plans : {3, 4, 6, 8, 9, 12, 30}) {
        constexpr int draws = 4000;
        int inside = 0;
        for (int draw = 0; draw < draws; ++draw) {
            std::vector<double> ratios(static_cast<std::size_t>(plans));
            for (double& ratio : ratios) ratio = std::exp(error(engine));
            const CalibrationBand band = band_of_steps(ratios).value();
            const double fresh = std::exp(error(engine));
            inside += fresh >= band.p10_ratio && fresh <= band.p90_ratio ? 1 : 0;
        }
        EXPECT_NEAR(static_cast<double>(inside) / draws, 0.8, 0.05) << plans;
    }
    EXPECT_FALSE(band_of_steps({1.0, 1.02}));
}

}  // namespace
}  // namespace foreshard
