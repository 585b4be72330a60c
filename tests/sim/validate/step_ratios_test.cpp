#include "sim/validate/step_ratios.hpp"

#include <gtest/gtest.h>

#include "sim/engine/evaluate.hpp"
#include "tests/support/jobs.hpp"

/// Measured over predicted steps, of plans that are left out of the fit in turn.
namespace foreshard {
namespace {

SharedCalibration flat_calibration() {
    Calibration out;
    out.id = out.name = "flat";
    out.machine.dtype = "fp32";
    out.machine.software = "foreshard";
    out.step_overhead = Seconds(1e-3);
    return std::make_shared<const Calibration>(out);
}

/// A plan whose steps take so many times what is predicted.
MeasuredStep step_of(int microbatches, double times, const std::string& comm = "threads") {
    MeasuredStep step;
    step.plan = test::tiny_request(2, microbatches);
    step.plan.software = "foreshard";
    step.plan.precision = "fp32";
    step.id = std::to_string(microbatches);
    step.comm = comm;
    JobRequest known = step.plan;
    known.calibration = flat_calibration();
    step.step_ms = times * evaluate(test::valid_job(known)).report.summary.step_time_ms;
    return step;
}

TEST(StepRatios, AreOnePerPlanAndTransport) {
    const std::vector<MeasuredStep> steps = {step_of(2, 1.02), step_of(4, 0.95), step_of(4, 0.97), step_of(4, 0.99),
                                             step_of(4, 1.10, "mpi")};
    std::vector<std::string> left_out;
    std::vector<double> ratios = step_ratios(steps, [&](const MeasuredStep& plan) {
        left_out.push_back(plan.id + " " + plan.comm);
        return flat_calibration();
    });
    std::sort(ratios.begin(), ratios.end());
    std::sort(left_out.begin(), left_out.end());
    ASSERT_EQ(ratios.size(), 3U);
    EXPECT_NEAR(ratios[0], 0.97, 1e-9);
    EXPECT_NEAR(ratios[1], 1.02, 1e-9);
    EXPECT_NEAR(ratios[2], 1.10, 1e-9);
    EXPECT_EQ(left_out, (std::vector<std::string>{"2 threads", "4 mpi", "4 threads"}));
}

TEST(StepRatios, LeavesOutPlansWithoutAFit) {
    const std::vector<double> ratios = step_ratios({step_of(2, 1.0), step_of(4, 1.0)}, [](const MeasuredStep& plan) {
        return plan.id == "2" ? nullptr : flat_calibration();
    });
    EXPECT_EQ(ratios.size(), 1U);
}

}  // namespace
}  // namespace foreshard
