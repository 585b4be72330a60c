#include "sim/fit/law_fit.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include <Eigen/Dense>

#include "sim/fit/statistics.hpp"

namespace foreshard {

namespace {

using Matrix = Eigen::MatrixXd;
using Column = Eigen::VectorXd;
using Coefficients = Eigen::Matrix<double, law_terms, 1>;

constexpr double huber_scales = 1.345;  ///< 95 % efficient for normal errors
constexpr double tukey_scales = 4.685;  ///< the same
constexpr double reject_scales = 4.0;
constexpr double reject_least = 0.2;
constexpr double reject_share = 0.2;
constexpr double longest_step = 0.7;  ///< of log times in one iteration: a factor of two
constexpr double least_scale = 1e-6;

struct Solution {
    Coefficients coefficients = Coefficients::Zero();
    double squares = std::numeric_limits<double>::infinity();
    int terms = 0;
};

std::vector<int> columns_of(unsigned subset) {
    std::vector<int> columns;
    for (int term = 0; term < static_cast<int>(law_terms); ++term) {
        if ((subset >> term & 1U) != 0) columns.push_back(term);
    }
    return columns;
}

Matrix take(const Matrix& all, const std::vector<int>& columns) {
    Matrix some(all.rows(), static_cast<Eigen::Index>(columns.size()));
    for (std::size_t i = 0; i < columns.size(); ++i) some.col(static_cast<Eigen::Index>(i)) = all.col(columns[i]);
    return some;
}

/// Least squares over some of the columns; none when a coefficient is negative or not determined.
std::optional<Solution> solve_subset(const Matrix& rows, const Column& target, unsigned subset) {
    const std::vector<int> columns = columns_of(subset);
    Matrix some = take(rows, columns);
    const Column length = some.colwise().norm();
    if (length.minCoeff() <= 0.0) return std::nullopt;
    some.array().rowwise() /= length.transpose().array();
    const Eigen::ColPivHouseholderQR<Matrix> qr(some);
    if (qr.rank() < some.cols()) return std::nullopt;
    const Column found = qr.solve(target).cwiseQuotient(length);
    if (found.minCoeff() < 0.0) return std::nullopt;
    Solution solution;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        solution.coefficients(columns[i]) = found(static_cast<Eigen::Index>(i));
    }
    solution.squares = (rows * solution.coefficients - target).squaredNorm();
    solution.terms = static_cast<int>(columns.size());
    return solution;
}

double criterion(const Solution& solution, double points, bool fewest_terms) {
    if (!fewest_terms) return solution.squares;
    constexpr double least_variance = 1e-4;
    return points * std::log(solution.squares / points + least_variance) + solution.terms * std::log(points);
}

/// The best solution that is not negative is the plain one over some subset of the terms. There is always one: a single
/// term that is needed.
Solution solve(const Matrix& rows, const Column& target, const LawOptions& options) {
    Solution best;
    double least = std::numeric_limits<double>::infinity();
    for (unsigned subset = 1; subset < 1U << law_terms; ++subset) {
        if ((subset & options.needed) == 0 || std::popcount(subset) > options.most_terms) continue;
        const std::optional<Solution> found = solve_subset(rows, target, subset);
        if (!found) continue;
        const double value = criterion(*found, static_cast<double>(rows.rows()), options.fewest_terms);
        if (value >= least) continue;
        least = value;
        best = *found;
    }
    return best;
}

double scale_of(const Column& errors) {
    return std::max(robust_deviation(std::vector<double>(errors.data(), errors.data() + errors.size())), least_scale);
}

double huber_weight(double scales) {
    return scales <= huber_scales ? 1.0 : huber_scales / scales;
}

double tukey_weight(double scales) {
    const double rest = 1.0 - scales * scales / (tukey_scales * tukey_scales);
    return rest > 0.0 ? rest * rest : 0.0;
}

Matrix matrix_of(std::span<const LawPoint> points) {
    Matrix terms(static_cast<Eigen::Index>(points.size()), static_cast<Eigen::Index>(law_terms));
    for (std::size_t i = 0; i < points.size(); ++i) {
        for (std::size_t k = 0; k < law_terms; ++k) {
            terms(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)) = points[i].terms[k];
        }
    }
    return terms;
}

Column times_of(std::span<const LawPoint> points) {
    Column times(static_cast<Eigen::Index>(points.size()));
    for (std::size_t i = 0; i < points.size(); ++i) times(static_cast<Eigen::Index>(i)) = points[i].time;
    return times;
}

Column predictions(const Matrix& terms, const Coefficients& coefficients) {
    return (terms * coefficients).cwiseMax(std::numeric_limits<double>::min());
}

/// Log times of measured over predicted.
Column log_errors(const Matrix& terms, const Column& times, const Coefficients& coefficients) {
    return (times.array() / predictions(terms, coefficients).array()).log().matrix();
}

/// One step of Gauss and Newton towards the least weighted squares of log times.
Coefficients log_step(const Matrix& terms, const Coefficients& now, const Column& errors, const Column& weights,
                      const LawOptions& options) {
    const Column predicted = predictions(terms, now);
    const Column root = weights.cwiseSqrt();
    const Matrix rows = (root.cwiseQuotient(predicted)).asDiagonal() * terms;
    const Column target = root.array() * (1.0 + errors.array().cwiseMax(-longest_step).cwiseMin(longest_step));
    const Solution found = solve(rows, target, options);
    return found.terms > 0 ? found.coefficients : now;
}

/// A law that outliers do not move.
Coefficients robust_law(const Matrix& terms, const Column& times, LawOptions options) {
    constexpr int huber_rounds = 30;
    constexpr int most_rounds = 50;
    constexpr double settled = 1e-9;
    options.fewest_terms = false;
    Coefficients now =
        solve(times.cwiseInverse().asDiagonal() * terms, Column::Ones(times.size()), options).coefficients;
    for (int round = 0; round < most_rounds; ++round) {
        const Column errors = log_errors(terms, times, now);
        const double scale = scale_of(errors);
        const auto weight = round < huber_rounds ? huber_weight : tukey_weight;
        const Column weights = errors.unaryExpr([&](double error) { return weight(std::abs(error) / scale); });
        const Coefficients next = log_step(terms, now, errors, weights, options);
        const bool same = (next - now).cwiseAbs().maxCoeff() <= settled * next.cwiseAbs().maxCoeff();
        now = next;
        if (!same) continue;
        if (round >= huber_rounds) break;
        round = huber_rounds - 1;
    }
    return now;
}

/// Of each point, the median error of the four whose predicted times are nearest, two on each side.
std::vector<double> errors_around(const Column& errors, const Column& predicted) {
    constexpr std::size_t each_side = 2;
    std::vector<std::size_t> order(static_cast<std::size_t>(errors.size()));
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto at = [](const Column& values, std::size_t i) { return values(static_cast<Eigen::Index>(i)); };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return at(predicted, a) < at(predicted, b); });
    std::vector<double> around(order.size(), 0.0);
    for (std::size_t place = 0; place < order.size(); ++place) {
        std::vector<double> near;
        for (std::size_t other = place - std::min(place, each_side); other <= place + each_side; ++other) {
            if (other != place && other < order.size()) near.push_back(at(errors, order[other]));
        }
        if (!near.empty()) around[order[place]] = median_of(std::move(near));
    }
    return around;
}

std::vector<bool> outliers(const Matrix& terms, const Column& times, const LawOptions& options) {
    const Coefficients law = robust_law(terms, times, options);
    const Column errors = log_errors(terms, times, law);
    const std::vector<double> around = errors_around(errors, predictions(terms, law));
    const double limit = std::max(reject_scales * scale_of(errors), reject_least);
    std::vector<bool> rejected(static_cast<std::size_t>(times.size()));
    for (std::size_t i = 0; i < rejected.size(); ++i) {
        const double error = errors(static_cast<Eigen::Index>(i));
        rejected[i] = std::abs(error) > limit && std::abs(error - around[i]) > limit;
    }
    const auto count = std::count(rejected.begin(), rejected.end(), true);
    if (static_cast<double>(count) > reject_share * static_cast<double>(rejected.size())) {
        rejected.assign(rejected.size(), false);
    }
    return rejected;
}

/// How much each kept point pulls its own prediction: the diagonal of the hat matrix.
Column leverages(const Matrix& rows, const Coefficients& coefficients) {
    unsigned subset = 0;
    for (unsigned term = 0; term < law_terms; ++term) {
        if (coefficients(term) > 0.0) subset |= 1U << term;
    }
    Matrix used = take(rows, columns_of(subset));
    const Column length = used.colwise().norm();
    used.array().rowwise() /= length.transpose().array();
    const Matrix q = Eigen::HouseholderQR<Matrix>(used).householderQ() * Matrix::Identity(used.rows(), used.cols());
    return q.rowwise().squaredNorm();
}

void add_fresh_ratios(const Matrix& rows, const std::vector<std::size_t>& kept, const Coefficients& coefficients,
                      LawFit& fit) {
    constexpr double nothing_left = 1e-9;
    const Column pull = leverages(rows, coefficients);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const auto row = static_cast<Eigen::Index>(i);
        const double relative = rows.row(row).dot(coefficients);  // predicted over measured
        const double left = 1.0 - pull(row);
        if (left < nothing_left) continue;
        const double without = 1.0 - (1.0 - relative) / left;
        if (without > 0.0) fit.fresh_ratio[kept[i]] = 1.0 / without;
    }
}

}  // namespace

double LawFit::time(const std::array<double, law_terms>& terms) const {
    return std::inner_product(terms.begin(), terms.end(), coefficients.begin(), 0.0);
}

LawFit fit_law(std::span<const LawPoint> points, const LawOptions& options) {
    const Matrix terms = matrix_of(points);
    const Column times = times_of(points);
    LawFit fit;
    fit.rejected = options.outliers.empty() ? outliers(terms, times, options) : options.outliers;
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (!fit.rejected[i]) kept.push_back(i);
    }
    Matrix rows(static_cast<Eigen::Index>(kept.size()), terms.cols());
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const auto from = static_cast<Eigen::Index>(kept[i]);
        rows.row(static_cast<Eigen::Index>(i)) = terms.row(from) / times(from);
    }
    const Coefficients found = solve(rows, Column::Ones(rows.rows()), options).coefficients;
    for (std::size_t k = 0; k < law_terms; ++k) fit.coefficients[k] = found(static_cast<Eigen::Index>(k));
    for (const LawPoint& point : points) fit.predicted.push_back(fit.time(point.terms));
    for (std::size_t i = 0; i < points.size(); ++i) fit.fresh_ratio.push_back(points[i].time / fit.predicted[i]);
    add_fresh_ratios(rows, kept, found, fit);
    return fit;
}

std::vector<double> monotone(std::span<const double> values, std::span<const double> weights) {
    struct Pool {
        double mean;
        double weight;
        std::size_t count;
    };
    std::vector<Pool> pools;
    for (std::size_t i = 0; i < values.size(); ++i) {
        pools.push_back({values[i], weights[i], 1});
        while (pools.size() > 1 && pools[pools.size() - 2].mean > pools.back().mean) {
            const Pool last = pools.back();
            pools.pop_back();
            Pool& into = pools.back();
            into.mean = (into.mean * into.weight + last.mean * last.weight) / (into.weight + last.weight);
            into.weight += last.weight;
            into.count += last.count;
        }
    }
    std::vector<double> out;
    for (const Pool& pool : pools) out.insert(out.end(), pool.count, pool.mean);
    return out;
}

double fresh_quantile(std::vector<double> values, double p) {
    std::sort(values.begin(), values.end());
    const double place = p * (static_cast<double>(values.size()) + 1.0) - 1.0;
    const double held = std::clamp(place, 0.0, static_cast<double>(values.size() - 1));
    const auto below = static_cast<std::size_t>(held);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], held - static_cast<double>(below));
}

}  // namespace foreshard
