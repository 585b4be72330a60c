#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/spec/catalogue.hpp"
#include "tests/support/jobs.hpp"

/// Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models" (arXiv 2205.05198),
/// table 5: end-to-end iteration times on Selene. The plans are those of the catalogue (models/plans/korthikanti-*).
namespace foreshard {
namespace {

struct Row {
    const char* plan;
    double measured_s;
};

constexpr Row rows[] = {{"korthikanti-22b-full", 1.42},   {"korthikanti-22b-selective", 1.10},
                        {"korthikanti-175b-full", 18.13}, {"gpt3-175b-selene-64", 13.75},
                        {"korthikanti-530b-full", 49.05}, {"korthikanti-530b-selective", 37.83},
                        {"korthikanti-1t-full", 94.42},   {"korthikanti-1t-selective", 71.49}};

TEST(Published, Korthikanti2022StepTimes) {
    fmt::print("{:<28} {:>12} {:>12} {:>8}\n", "plan", "measured s", "predicted s", "error %");
    double sum = 0.0;
    for (const Row& row : rows) {
        const Evaluation e = evaluate(test::valid_job(load_job_request(row.plan)));
        const double predicted = e.report.summary.step_time_ms / 1e3;
        const double error = 100.0 * (predicted / row.measured_s - 1.0);
        fmt::print("{:<28} {:>12.2f} {:>12.2f} {:>+8.1f}\n", row.plan, row.measured_s, predicted, error);
        EXPECT_LT(std::abs(error), 15.0) << row.plan;
        sum += std::abs(error);
    }
    fmt::print("mean absolute error {:.1f} %\n", sum / std::size(rows));
}

}  // namespace
}  // namespace foreshard
