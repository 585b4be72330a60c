#include "sim/fit/quality.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "sim/fit/law_fit.hpp"
#include "sim/fit/statistics.hpp"

namespace foreshard {

namespace {

double error_pct(const Fitted& point) {
    return 100.0 * (point.predicted / point.time - 1.0);
}

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> sizes_of(std::vector<double> values) {
    for (double& value : values) value = std::abs(value);
    return values;
}

double median_abs(const std::vector<double>& errors) {
    return quantile_of(sizes_of(errors), 0.5);
}

/// Share of the variance of log times that the law explains. Of one amount there is only noise to explain.
std::optional<double> r2_of(const std::vector<const Fitted*>& points) {
    const bool one_amount = std::all_of(points.begin(), points.end(),
                                        [&](const Fitted* point) { return point->amount == points.front()->amount; });
    if (one_amount) return std::nullopt;
    double sum = 0.0;
    for (const Fitted* point : points) sum += std::log(point->time);
    const double middle = sum / static_cast<double>(points.size());
    double left = 0.0;
    double all = 0.0;
    for (const Fitted* point : points) {
        left += std::pow(std::log(point->time / point->predicted), 2.0);
        all += std::pow(std::log(point->time) - middle, 2.0);
    }
    return all > 0.0 ? 1.0 - left / all : 1.0;
}

std::vector<CalibrationResidual::Size> by_decade(const std::vector<const Fitted*>& points) {
    std::map<int, std::vector<double>> errors;
    for (const Fitted* point : points) {
        if (point->amount > 0.0)
            errors[static_cast<int>(std::floor(std::log10(point->amount)))].push_back(error_pct(*point));
    }
    std::vector<CalibrationResidual::Size> sizes;
    sizes.reserve(errors.size());
    for (const auto& [decade, found] : errors) {
        sizes.push_back({std::pow(10.0, decade), std::pow(10.0, decade + 1), static_cast<int>(found.size()),
                         median_abs(found), mean(found)});
    }
    return sizes;
}

}  // namespace

CalibrationResidual residual_of(const std::string& group, const std::string& amount,
                                const std::vector<Fitted>& points) {
    CalibrationResidual residual{.group = group, .amount = amount};
    std::vector<const Fitted*> kept;
    for (const Fitted& point : points) {
        if (!point.rejected) kept.push_back(&point);
    }
    residual.points = static_cast<int>(kept.size());
    residual.rejected = static_cast<int>(points.size() - kept.size());
    if (kept.empty()) return residual;
    std::vector<double> errors;
    errors.reserve(kept.size());
    for (const Fitted* point : kept) errors.push_back(error_pct(*point));
    residual.r2 = r2_of(kept);
    residual.median_abs_pct = median_abs(errors);
    residual.p90_abs_pct = quantile_of(sizes_of(errors), 0.9);
    residual.bias_pct = mean(errors);
    residual.sizes = by_decade(kept);
    return residual;
}

CalibrationBand band_of(const std::string& group, const std::vector<Fitted>& points) {
    std::vector<double> ratios;
    ratios.reserve(points.size());
    for (const Fitted& point : points) ratios.push_back(point.fresh_ratio);
    return {group, static_cast<int>(points.size()), fresh_quantile(ratios, 0.1), fresh_quantile(ratios, 0.9)};
}

std::optional<CalibrationBand> band_of_steps(const std::vector<double>& ratios) {
    constexpr std::size_t fewest = 3;
    constexpr std::size_t enough = 9;  // of n values, (n - 1) / (n + 1) of fresh ones lie between least and largest
    /// 90th percentile of Student's t with 2 to 7 degrees of freedom.
    constexpr std::array<double, 6> student = {1.886, 1.638, 1.533, 1.476, 1.440, 1.415};
    const std::size_t n = ratios.size();
    if (n < fewest) return std::nullopt;
    CalibrationBand band{"step", static_cast<int>(n), fresh_quantile(ratios, 0.1), fresh_quantile(ratios, 0.9)};
    if (n >= enough) return band;
    std::vector<double> logs;
    logs.reserve(n);
    for (const double ratio : ratios) logs.push_back(std::log(ratio));
    const double middle = mean(logs);
    double squares = 0.0;
    for (const double each : logs) squares += (each - middle) * (each - middle);
    const auto count = static_cast<double>(n);
    const double reach = student[n - fewest] * std::sqrt(squares / (count - 1.0) * (1.0 + 1.0 / count));
    band.p10_ratio = std::exp(middle - reach);
    band.p90_ratio = std::exp(middle + reach);
    return band;
}

}  // namespace foreshard
