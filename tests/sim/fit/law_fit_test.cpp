#include "sim/fit/law_fit.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

/// Laws that made the data come back out of the fit.
namespace foreshard {
namespace {

/// t = 20 + 3 x + 0.5 y, over a grid of sizes.
struct Truth {
    std::array<double, law_terms> coefficients{20.0, 3.0, 0.5};

    double time(const std::array<double, law_terms>& terms) const {
        return coefficients[0] * terms[0] + coefficients[1] * terms[1] + coefficients[2] * terms[2];
    }
};

std::vector<LawPoint> exact_points(const Truth& truth) {
    std::vector<LawPoint> points;
    for (double x = 0.01; x < 2000.0; x *= 1.7) {
        for (double y = 0.1; y < 20000.0; y *= 2.3) points.push_back({{1.0, x, y}, truth.time({1.0, x, y})});
    }
    return points;
}

/// 5 % noise; every twentieth point is an outlier, half or up to ten times as long.
void disturb(std::vector<LawPoint>& points, std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> noise(0.0, 0.05);
    std::uniform_real_distribution<double> share(0.0, 1.0);
    for (LawPoint& point : points) {
        point.time *= std::exp(noise(engine));
        if (share(engine) < 0.05) point.time *= share(engine) < 0.3 ? 0.5 : 1.5 + 8.5 * share(engine);
    }
}

class LawFitRecovers : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(LawFitRecovers, KnownCoefficientsFromNoiseAndOutliers) {
    const Truth truth;
    std::vector<LawPoint> points = exact_points(truth);
    disturb(points, GetParam());
    const LawFit fit = fit_law(points);
    for (std::size_t k = 0; k < law_terms; ++k) {
        EXPECT_NEAR(fit.coefficients[k] / truth.coefficients[k], 1.0, 0.02) << "term " << k;
    }
}

TEST_P(LawFitRecovers, BandHoldsFourFifthsOfFreshPoints) {
    const Truth truth;
    std::vector<LawPoint> points = exact_points(truth);
    disturb(points, GetParam());
    const LawFit fit = fit_law(points);
    const double low = fresh_quantile(fit.fresh_ratio, 0.1);
    const double high = fresh_quantile(fit.fresh_ratio, 0.9);
    std::vector<LawPoint> fresh;
    for (std::uint64_t round = 0; round < 10; ++round) {
        std::vector<LawPoint> more = exact_points(truth);
        disturb(more, 1000 + 10 * GetParam() + round);
        fresh.insert(fresh.end(), more.begin(), more.end());
    }
    const auto inside = std::count_if(fresh.begin(), fresh.end(), [&](const LawPoint& point) {
        const double ratio = point.time / fit.time(point.terms);
        return ratio >= low && ratio <= high;
    });
    EXPECT_NEAR(static_cast<double>(inside) / static_cast<double>(fresh.size()), 0.8, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LawFitRecovers, ::testing::Range<std::uint64_t>(1, 13));

TEST(LawFit, ExactDataAreGivenBack) {
    const Truth truth;
    const LawFit fit = fit_law(exact_points(truth));
    for (std::size_t k = 0; k < law_terms; ++k) EXPECT_NEAR(fit.coefficients[k], truth.coefficients[k], 1e-6);
    EXPECT_EQ(std::count(fit.rejected.begin(), fit.rejected.end(), true), 0);
}

TEST(LawFit, RejectsTheOutlierAndNoOther) {
    std::vector<LawPoint> points = exact_points({});
    points[7].time *= 4.0;
    points[40].time /= 4.0;
    const LawFit fit = fit_law(points);
    for (std::size_t i = 0; i < points.size(); ++i) EXPECT_EQ(fit.rejected[i], i == 7 || i == 40) << i;
    EXPECT_NEAR(fit.coefficients[1], 3.0, 1e-6);
}

/// Where a fifth and more is far away, the law does not hold: nothing is thrown away to make it look as if it did.
TEST(LawFit, RejectsNothingWhereTheLawDoesNotHold) {
    std::vector<LawPoint> points = exact_points({});
    for (std::size_t i = 0; i < points.size(); i += 3) points[i].time *= 3.0;
    const LawFit fit = fit_law(points);
    EXPECT_EQ(std::count(fit.rejected.begin(), fit.rejected.end(), true), 0);
}

TEST(LawFit, CoefficientsAreNeverNegative) {
    // Falls with x: the best line has a negative slope.
    std::vector<LawPoint> points;
    for (double x = 1.0; x < 10.0; x += 1.0) points.push_back({{1.0, x, 0.0}, 20.0 - x});
    const LawFit fit = fit_law(points);
    EXPECT_GT(fit.coefficients[0], 0.0);
    EXPECT_EQ(fit.coefficients[1], 0.0);
    const LawFit sloped = fit_law(points, {.needed = 0b010});
    EXPECT_GT(sloped.coefficients[1], 0.0);
}

TEST(LawFit, FewestTermsLeaveOutWhatExplainsNothing) {
    std::vector<LawPoint> points;
    for (double x = 1.0; x < 1000.0; x *= 1.5)
        points.push_back({{1.0, x, std::sqrt(x)}, 2.0 * x * (1.0 + 0.002 * std::sin(x))});
    const LawFit fit = fit_law(points, {.fewest_terms = true});
    EXPECT_EQ(fit.coefficients[0], 0.0);
    EXPECT_EQ(fit.coefficients[2], 0.0);
    EXPECT_NEAR(fit.coefficients[1], 2.0, 0.01);
}

/// The minimum of the sum of squared relative errors, not of absolute ones: with two times for one size, the weights
/// are 1/t^2.
TEST(LawFit, ErrorsAreRelative) {
    const std::vector<LawPoint> points = {{{0.0, 1.0, 0.0}, 1.0}, {{0.0, 1.0, 0.0}, 1.1}};
    const LawFit fit = fit_law(points);
    EXPECT_NEAR(fit.coefficients[1], (1.0 + 1.0 / 1.1) / (1.0 + 1.0 / 1.21), 1e-12);
}

TEST(Monotone, PoolsAdjacentViolators) {
    const std::vector<double> values = {1.0, 3.0, 2.0, 2.0, 5.0, 4.0};
    const std::vector<double> weights = {1.0, 1.0, 1.0, 2.0, 3.0, 1.0};
    const std::vector<double> expected = {1.0, 2.25, 2.25, 2.25, 4.75, 4.75};
    EXPECT_EQ(monotone(values, weights), expected);
}

/// The projection onto a convex cone: never falls, keeps the weighted sum, and no other curve that does not fall is
/// closer (checked against random ones).
TEST(Monotone, IsTheClosestCurveThatDoesNotFall) {
    std::mt19937_64 engine(3);
    std::uniform_real_distribution<double> draw(0.1, 5.0);
    const auto distance = [](const std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& w) {
        double sum = 0.0;
        for (std::size_t i = 0; i < a.size(); ++i) sum += w[i] * (a[i] - b[i]) * (a[i] - b[i]);
        return sum;
    };
    for (int round = 0; round < 50; ++round) {
        std::vector<double> values(9);
        std::vector<double> weights(9);
        std::generate(values.begin(), values.end(), [&] { return draw(engine); });
        std::generate(weights.begin(), weights.end(), [&] { return draw(engine); });
        const std::vector<double> found = monotone(values, weights);
        EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
        for (int other = 0; other < 50; ++other) {
            std::vector<double> rival = found;
            for (double& value : rival) value += 0.05 * (draw(engine) - 2.5);
            std::sort(rival.begin(), rival.end());
            EXPECT_GE(distance(rival, values, weights), distance(found, values, weights) - 1e-12);
        }
    }
}

TEST(FreshQuantile, LiesBetweenOrderStatistics) {
    EXPECT_DOUBLE_EQ(fresh_quantile({4.0, 1.0, 2.0, 3.0}, 0.5), 2.5);
    EXPECT_DOUBLE_EQ(fresh_quantile({1.0, 2.0, 3.0}, 0.25), 1.0);
    EXPECT_DOUBLE_EQ(fresh_quantile({1.0, 2.0, 3.0}, 0.01), 1.0);
    EXPECT_DOUBLE_EQ(fresh_quantile({7.0}, 0.9), 7.0);
}

}  // namespace
}  // namespace foreshard
