#pragma once

#include <vector>

#include "sim/fit/quality.hpp"

/// Measured curves that stand in the place of a law.
namespace foreshard {

/// True where ten amounts or more were measured, or four that span two decades (a cache ends somewhere between), and
/// the law is more than 8 % off the median times of amounts, at the 90th percentile. Rejected points do not count.
bool wants_curve(const std::vector<Fitted>& points);

/// Median time of every amount over the points that were not rejected, made monotone; at most 24 of them, spread
/// evenly. Times of the points are in microseconds.
std::vector<OpLaw::Point> measured_curve(const std::vector<Fitted>& points);

/// What the curve without the node at an amount, if it is one, says there.
Seconds without_node(std::vector<OpLaw::Point> curve, double amount, const std::function<Seconds(double)>& by_law);

}  // namespace foreshard
