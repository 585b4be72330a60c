#include "sim/fit/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace foreshard {

double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

double quantile_of(std::vector<double> values, double p) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(p * static_cast<double>(values.size() - 1))];
}

double robust_deviation(std::vector<double> errors) {
    constexpr double of_normal_errors = 1.4826;
    for (double& error : errors) error = std::abs(error);
    return of_normal_errors * median_of(std::move(errors));
}

}  // namespace foreshard
