#pragma once

#include <string>
#include <vector>

#include "sim/spec/calibration.hpp"

/// How well laws give back what was measured.
namespace foreshard {

/// A measured time beside the law's.
struct Fitted {
    double amount = 0.0;
    double time = 0.0;         ///< measured; any unit
    double predicted = 0.0;    ///< the same unit
    double fresh_ratio = 1.0;  ///< measured over what the law would say without this point
    bool rejected = false;
};

/// Of the points that were not rejected; sizes are decades of the amount. `rejected` counts the others.
CalibrationResidual residual_of(const std::string& group, const std::string& amount, const std::vector<Fitted>& points);

/// Of all points, rejected ones too: they belong to what is measured. Precondition: at least one point.
CalibrationBand band_of(const std::string& group, const std::vector<Fitted>& points);

/// 80 % band of a fresh plan, from ratios of plans that were predicted without themselves. Of nine and more the
/// quantiles; of fewer, which would not reach far enough, mean and deviation of their logarithms and Student's
/// distribution: exact for normal errors. None for fewer than three.
std::optional<CalibrationBand> band_of_steps(const std::vector<double>& ratios);

}  // namespace foreshard
