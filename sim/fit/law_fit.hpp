#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

/// Laws of time: t = c0 x0 + c1 x1 + c2 x2 with coefficients that are not negative, by robust relative least squares.
namespace foreshard {

inline constexpr std::size_t law_terms = 3;

/// A measured time and the terms of its law: 1, FLOPs and bytes of an op; 1, sqrt(S) and f S of a collective.
struct LawPoint {
    std::array<double, law_terms> terms{};
    double time = 0.0;  ///< positive
};

struct LawFit {
    std::array<double, law_terms> coefficients{};
    std::vector<double> predicted;  ///< of every point
    std::vector<bool> rejected;     ///< of every point: an outlier, not used
    /// Measured over predicted time of every point, by the fit without it.
    std::vector<double> fresh_ratio;

    double time(const std::array<double, law_terms>& terms) const;
};

struct LawOptions {
    /// Leave out terms that do not lower the Bayesian information criterion of errors that are 1 % at least.
    bool fewest_terms = false;
    int most_terms = static_cast<int>(law_terms);
    unsigned needed = (1U << law_terms) - 1;  ///< bit per term: at least one of these is in the law
    /// Of every point: an outlier. Empty: they are looked for.
    std::vector<bool> outliers{};
};

/// Outliers are found first: a fit of log times, reweighted by Huber's and then by Tukey's function, gives a scale
/// (1.4826 times the median absolute deviation); a point is rejected when it is further than four scales and than 20 %
/// from it. When that is more than a fifth of all points, the law does not hold, and nothing is rejected. Then the sum
/// of squared relative errors (predicted / measured - 1) of the others is minimised over coefficients that are not
/// negative. Precondition: at least one point, all times positive, and some term of each point positive.
LawFit fit_law(std::span<const LawPoint> points, const LawOptions& options = {});

/// The closest curve to `values` that does not fall, in the sense of weighted least squares (pool adjacent violators).
std::vector<double> monotone(std::span<const double> values, std::span<const double> weights);

/// Quantile of a sample as an estimate for fresh values (p (n + 1), linear between order statistics, held at the ends).
/// Precondition: at least one value.
double fresh_quantile(std::vector<double> values, double p);

}  // namespace foreshard
