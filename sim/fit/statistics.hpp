#pragma once

#include <vector>

namespace foreshard {

/// Mean of the two in the middle where their number is even. Precondition: at least one value.
double median_of(std::vector<double> values);

/// Nearest rank at or below p. Precondition: at least one value.
double quantile_of(std::vector<double> values, double p);

/// 1.4826 times the median absolute value: the standard deviation of errors around 0, if they are normal, whatever the
/// outliers among them. Precondition: at least one value.
double robust_deviation(std::vector<double> errors);

}  // namespace foreshard
