#include "sim/fit/comm_fit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "sim/cost/link_network.hpp"
#include "sim/fit/curve.hpp"
#include "sim/fit/law_fit.hpp"
#include "sim/fit/statistics.hpp"
#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

constexpr double root_unit = 1e3;
constexpr double size_unit = 1e6;

int terms_for(const std::vector<CommPoint>& points) {
    std::set<double> sizes;
    for (const CommPoint& point : points) sizes.insert(point.bytes);
    return static_cast<int>(std::min<std::size_t>(sizes.size(), law_terms));
}

double mean_abs_pct(const std::vector<Fitted>& points) {
    double sum = 0.0;
    int kept = 0;
    for (const Fitted& point : points) {
        if (point.rejected) continue;
        sum += std::abs(point.predicted / point.time - 1.0);
        ++kept;
    }
    return kept > 0 ? 100.0 * sum / kept : 0.0;
}

/// By how much the logarithm of each time differs from the median of all times of its size; 0 where there are less than
/// three.
std::vector<double> off_their_size(const std::vector<CommPoint>& points) {
    constexpr std::size_t enough = 3;
    std::map<double, std::vector<double>> times;
    for (const CommPoint& point : points) times[point.bytes].push_back(point.time_us);
    std::vector<double> off;
    for (const CommPoint& point : points) {
        const std::vector<double>& alike = times[point.bytes];
        off.push_back(alike.size() < enough ? 0.0 : std::log(point.time_us / median_of(alike)));
    }
    return off;
}

/// A single time of a size is never an outlier: libraries change their algorithm from one size to the next, and times
/// jump by tens of percent where they do.
std::vector<bool> off_outliers(const std::vector<CommPoint>& points) {
    constexpr double least = 0.2;
    constexpr double deviations = 4.0;
    const std::vector<double> off = off_their_size(points);
    std::vector<double> known;
    std::copy_if(off.begin(), off.end(), std::back_inserter(known), [](double each) { return each != 0.0; });
    const double scale = known.empty() ? 0.0 : robust_deviation(known);
    std::vector<bool> found;
    found.reserve(off.size());
    for (const double each : off) found.push_back(std::abs(each) > std::max(deviations * scale, least));
    return found;
}

/// Linear between two sizes; none outside.
std::optional<double> interpolated_comm(const std::map<double, double>& times, double bytes) {
    const auto above = times.lower_bound(bytes);
    if (above == times.end()) return std::nullopt;
    if (above->first == bytes) return above->second;
    if (above == times.begin()) return std::nullopt;
    const auto below = std::prev(above);
    const double share = (bytes - below->first) / (above->first - below->first);
    return std::lerp(below->second, above->second, share);
}

/// The fit stays as it is, with its own error.
void use_comm_curve(FittedComm& out) {
    out.table = measured_curve(out.points);
    const auto by_law = [&](double bytes) { return fitted_time(out.fit, bytes); };
    for (Fitted& point : out.points) {
        point.predicted = table_time(out.table, point.amount, by_law).value / micro;
        point.fresh_ratio = point.time / (without_node(out.table, point.amount, by_law).value / micro);
    }
}

}  // namespace

Seconds fitted_time(const CollectiveFit& fit, double bytes) {
    return fit.base + Seconds(fit.sqrt_term * std::sqrt(bytes)) +
           Bytes(bytes * ring_factor(fit.kind, fit.ranks)) / fit.bandwidth;
}

std::vector<CommPoint> as_in_steps(std::vector<CommPoint> points) {
    std::map<double, double> alone;
    for (const CommPoint& point : points) {
        if (!point.in_step) alone[point.bytes] = point.time_us;
    }
    std::vector<double> longer;
    for (const CommPoint& point : points) {
        const std::optional<double> time = point.in_step ? interpolated_comm(alone, point.bytes) : std::nullopt;
        if (time) longer.push_back(point.time_us - *time);
    }
    const double wakes = longer.empty() ? 0.0 : std::max(median_of(longer), 0.0);
    for (CommPoint& point : points) point.time_us += point.in_step ? 0.0 : wakes;
    return points;
}

FittedComm fit_comm(const std::vector<CommPoint>& points) {
    const CommPoint& first = points.front();
    const bool message = first.kind == CollectiveKind::send_recv;
    const double factor = ring_factor(first.kind, first.ranks);
    std::vector<LawPoint> rows;
    for (const CommPoint& point : points) {
        const double root = message ? 0.0 : std::sqrt(point.bytes) / root_unit;
        rows.push_back({{1.0, root, factor * point.bytes / size_unit}, point.time_us});
    }
    constexpr unsigned bandwidth_term = 0b100;
    const LawFit fit =
        fit_law(rows, {.most_terms = terms_for(points), .needed = bandwidth_term, .outliers = off_outliers(points)});
    FittedComm out;
    out.fit.kind = first.kind;
    out.fit.ranks = first.ranks;
    out.fit.base = Seconds(fit.coefficients[0] * micro);
    out.fit.sqrt_term = fit.coefficients[1] / root_unit * micro;
    out.fit.bandwidth = BytesPerSecond(size_unit / (fit.coefficients[2] * micro));
    for (std::size_t i = 0; i < points.size(); ++i) {
        out.points.push_back(
            {points[i].bytes, points[i].time_us, fit.predicted[i], fit.fresh_ratio[i], fit.rejected[i]});
    }
    out.fit.mean_abs_error_pct = mean_abs_pct(out.points);
    if (wants_curve(out.points)) use_comm_curve(out);
    return out;
}

}  // namespace foreshard
