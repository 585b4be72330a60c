#pragma once

#include <array>
#include <span>
#include <vector>

#include "sim/spec/kernel_table.hpp"

/// From measured kernel times to a small table.
namespace foreshard {

struct RatePoint {
    std::array<double, 3> at{};  ///< the three sizes
    double tflops = 0.0;
    double weight = 1.0;  ///< in the fit; the residual counts every point once
};

using GridLines = std::array<std::vector<double>, 3>;

/// Chooses grid lines from the points' own sizes, at most `max_nodes` nodes: greedily, by the drop of the weighted
/// absolute log error per growth of the table, then by moving each line. @throws InputError when there are no points
GridLines choose_lines(std::span<const RatePoint> points, std::size_t max_nodes);

/// Rates of the nodes that minimise the weighted absolute log errors of all points (Huber, by reweighted least
/// squares), rounded to three digits. A weak pull between neighbours gives nodes that no point touches the rates around
/// them.
/// @param rounds of reweighting; 1 is plain least squares
RateTable fit_rates(std::span<const RatePoint> points, const GridLines& lines, int rounds = 10);

/// Errors of the table's times at the points.
FitResidual residual(const RateTable& table, std::span<const RatePoint> points);

}  // namespace foreshard
