#pragma once

#include <vector>

namespace foreshard {

/// Mean of the two in the middle where their number is even. Precondition: at least one value.
double median_of(std::vector<double> values);

/// Nearest rank at or below p. Precondition: at least one value.
double quantile_of(std::vector<double> values, double p);

}  // namespace foreshard
