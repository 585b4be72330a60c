#include "sim/fit/rate_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "sim/cost/rate_grid.hpp"

/// Weighted least squares on the nodes of a grid, by conjugate gradients: the matrix has eight entries a row and is
/// never built.
namespace foreshard {

namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Neighbouring nodes.
using Edge = std::array<std::size_t, 2>;

std::vector<Edge> edges_of(const RateTable& grid) {
    const std::size_t strides[3] = {grid.axes[1].size() * grid.axes[2].size(), grid.axes[2].size(), 1};
    std::vector<Edge> edges;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        for (std::size_t node = 0; node < grid.nodes(); ++node) {
            const bool last = node / strides[axis] % grid.axes[axis].size() + 1 == grid.axes[axis].size();
            if (!last) edges.push_back({node, node + strides[axis]});
        }
    }
    return edges;
}

double three_digits(double value) {
    return std::stod(fmt::format("{:.3g}", value));
}

class NodeFit {
public:
    NodeFit(std::span<const RatePoint> points, RateTable grid) : grid_(std::move(grid)), edges_(edges_of(grid_)) {
        const RateGrid places(grid_);
        for (const RatePoint& point : points) {
            stencils_.push_back(places.stencil(point.at[0], point.at[1], point.at[2]));
            target_.push_back(std::log(point.tflops));
            given_weight_.push_back(point.weight);
        }
        weight_ = given_weight_;
        const double mean = std::accumulate(target_.begin(), target_.end(), 0.0) / static_cast<double>(target_.size());
        log_rate_.assign(grid_.nodes(), mean);
    }

    RateTable run(int rounds) {
        for (int round = 0; round < rounds; ++round) {
            solve();
            reweight();
        }
        grid_.tflops.clear();
        for (const double value : log_rate_) grid_.tflops.push_back(three_digits(std::exp(value)));
        return std::move(grid_);
    }

private:
    static constexpr int iterations = 150;
    static constexpr double converged_below = 1e-9;
    static constexpr double quadratic_below = 0.02;  ///< of log error: smaller ones are noise and count squared
    static constexpr double flatness = 1e-3;         ///< pull between neighbours; a measured point pulls with about 1

    double at(std::size_t point, const Vector& values) const {
        const RateGrid::Stencil& s = stencils_[point];
        double sum = 0.0;
        for (std::size_t c = 0; c < 8; ++c) sum += s.weight[c] * values[s.node[c]];
        return sum;
    }

    void scatter(std::size_t point, double amount, Vector& values) const {
        const RateGrid::Stencil& s = stencils_[point];
        for (std::size_t c = 0; c < 8; ++c) values[s.node[c]] += s.weight[c] * amount;
    }

    /// The normal matrix times a vector.
    Vector normal(const Vector& values) const {
        Vector out(values.size(), 0.0);
        for (std::size_t i = 0; i < stencils_.size(); ++i) scatter(i, weight_[i] * at(i, values), out);
        for (const auto& [low, high] : edges_) {
            const double pull = flatness * (values[high] - values[low]);
            out[high] += pull;
            out[low] -= pull;
        }
        return out;
    }

    Vector diagonal() const {
        Vector out(log_rate_.size(), 1e-12);
        for (std::size_t i = 0; i < stencils_.size(); ++i) {
            const RateGrid::Stencil& s = stencils_[i];
            for (std::size_t c = 0; c < 8; ++c) out[s.node[c]] += weight_[i] * s.weight[c] * s.weight[c];
        }
        for (const auto& [low, high] : edges_) {
            out[low] += flatness;
            out[high] += flatness;
        }
        return out;
    }

    /// Right-hand side minus the normal matrix times the present rates.
    Vector left_over() const {
        Vector left = normal(log_rate_);
        for (double& value : left) value = -value;
        for (std::size_t i = 0; i < stencils_.size(); ++i) scatter(i, weight_[i] * target_[i], left);
        return left;
    }

    /// Conjugate gradients from the present rates, preconditioned by the diagonal.
    void solve() {
        Vector left = left_over();
        const Vector scale = diagonal();
        Vector direction(left.size(), 0.0);
        double before = 1.0;
        for (int step = 0; step < iterations; ++step) {
            Vector scaled(left.size());
            std::transform(left.begin(), left.end(), scale.begin(), scaled.begin(), std::divides<>());
            const double now = dot(left, scaled);
            if (now < converged_below) return;
            for (std::size_t j = 0; j < direction.size(); ++j) direction[j] = scaled[j] + now / before * direction[j];
            before = now;
            const Vector image = normal(direction);
            const double length = now / dot(direction, image);
            for (std::size_t j = 0; j < direction.size(); ++j) {
                log_rate_[j] += length * direction[j];
                left[j] -= length * image[j];
            }
        }
    }

    void reweight() {
        for (std::size_t i = 0; i < stencils_.size(); ++i) {
            const double error = std::abs(at(i, log_rate_) - target_[i]);
            weight_[i] = given_weight_[i] * quadratic_below / std::max(quadratic_below, error);
        }
    }

    RateTable grid_;
    std::vector<Edge> edges_;
    std::vector<RateGrid::Stencil> stencils_;
    Vector target_;
    Vector given_weight_;
    Vector weight_;
    Vector log_rate_;
};

}  // namespace

RateTable fit_rates(std::span<const RatePoint> points, const GridLines& lines, int rounds) {
    return NodeFit(points, {lines, {}}).run(rounds);
}

FitResidual residual(const RateTable& table, std::span<const RatePoint> points) {
    const RateGrid grid(table);
    Vector errors;
    double sum = 0.0;
    for (const RatePoint& point : points) {
        const double error = 100.0 * (point.tflops / grid.tflops(point.at[0], point.at[1], point.at[2]) - 1.0);
        sum += error;
        errors.push_back(std::abs(error));
    }
    if (errors.empty()) return {};
    std::sort(errors.begin(), errors.end());
    const auto count = static_cast<double>(errors.size());
    return {static_cast<int>(errors.size()), errors[errors.size() / 2],
            errors[static_cast<std::size_t>(0.9 * (count - 1.0))], sum / count};
}

}  // namespace foreshard
