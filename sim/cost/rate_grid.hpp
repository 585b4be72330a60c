#pragma once

#include <array>
#include <vector>

#include "sim/spec/kernel_table.hpp"

namespace foreshard {

/// Rates between the nodes of a RateTable: linear in log(rate) over the logarithms of the three sizes. Outside the
/// table the rate of the nearest edge holds, so time stays proportional to the work. Allocates in the constructor only.
class RateGrid {
public:
    /// Corners around a place, with the weights of their log rates (weights sum to 1).
    struct Stencil {
        std::array<std::size_t, 8> node{};
        std::array<double, 8> weight{};
    };

    RateGrid() = default;
    explicit RateGrid(const RateTable& table);

    bool empty() const { return log_rate_.empty(); }

    /// TFLOP/s. Precondition: not empty, sizes are positive.
    double tflops(double a, double b, double c) const;

    /// True inside the table's axes, edges included.
    bool contains(double a, double b, double c) const;

    Stencil stencil(double a, double b, double c) const;

private:
    std::array<std::vector<double>, 3> log_axes_;
    std::vector<double> log_rate_;
};

}  // namespace foreshard
