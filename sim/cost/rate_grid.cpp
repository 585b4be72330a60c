#include "sim/cost/rate_grid.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace foreshard {

namespace {

std::vector<double> logarithms(const std::vector<double>& values) {
    std::vector<double> logs(values.size());
    std::transform(values.begin(), values.end(), logs.begin(), [](double v) { return std::log(v); });
    return logs;
}

/// The two nodes of an axis around a place; both the same outside the axis and on an axis of one node.
struct Bracket {
    std::size_t low = 0;
    std::size_t high = 0;
    double share = 0.0;  ///< weight of the high node
};

Bracket bracket(const std::vector<double>& log_axis, double value) {
    const double x = std::log(value);
    const auto above = std::upper_bound(log_axis.begin(), log_axis.end(), x);
    if (above == log_axis.begin()) return {};
    const auto low = static_cast<std::size_t>(above - log_axis.begin()) - 1;
    if (above == log_axis.end()) return {low, low, 0.0};
    return {low, low + 1, (x - log_axis[low]) / (log_axis[low + 1] - log_axis[low])};
}

}  // namespace

RateGrid::RateGrid(const RateTable& table)
    : log_axes_{logarithms(table.axes[0]), logarithms(table.axes[1]), logarithms(table.axes[2])},
      log_rate_(logarithms(table.tflops)) {
    assert(table.tflops.empty() || table.tflops.size() == table.nodes());
}

RateGrid::Stencil RateGrid::stencil(double a, double b, double c) const {
    const std::array<Bracket, 3> at = {bracket(log_axes_[0], a), bracket(log_axes_[1], b), bracket(log_axes_[2], c)};
    const std::size_t row = log_axes_[2].size();
    const std::size_t plane = log_axes_[1].size() * row;
    Stencil out;
    for (std::size_t corner = 0; corner < 8; ++corner) {
        const bool high[3] = {(corner & 4) != 0, (corner & 2) != 0, (corner & 1) != 0};
        double weight = 1.0;
        for (std::size_t axis = 0; axis < 3; ++axis) weight *= high[axis] ? at[axis].share : 1.0 - at[axis].share;
        out.weight[corner] = weight;
        out.node[corner] = (high[0] ? at[0].high : at[0].low) * plane + (high[1] ? at[1].high : at[1].low) * row +
                           (high[2] ? at[2].high : at[2].low);
    }
    return out;
}

double RateGrid::tflops(double a, double b, double c) const {
    assert(!empty());
    const Stencil at = stencil(a, b, c);
    double log_rate = 0.0;
    for (std::size_t corner = 0; corner < 8; ++corner) log_rate += at.weight[corner] * log_rate_[at.node[corner]];
    return std::exp(log_rate);
}

bool RateGrid::contains(double a, double b, double c) const {
    const double at[3] = {std::log(a), std::log(b), std::log(c)};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (at[axis] < log_axes_[axis].front() || at[axis] > log_axes_[axis].back()) return false;
    }
    return true;
}

}  // namespace foreshard
