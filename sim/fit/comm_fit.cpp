#include "sim/fit/comm_fit.hpp"

#include <cmath>
#include <set>

#include "sim/cost/link_network.hpp"
#include "sim/fit/law_fit.hpp"
#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

constexpr double root_reference = 1e3;
constexpr double reference = 1e6;

int most_terms(const std::vector<CommPoint>& points) {
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

}  // namespace

FittedComm fit_comm(const std::vector<CommPoint>& points) {
    const CommPoint& first = points.front();
    const bool message = first.kind == CollectiveKind::send_recv;
    const double factor = ring_factor(first.kind, first.ranks);
    std::vector<LawPoint> rows;
    for (const CommPoint& point : points) {
        const double root = message ? 0.0 : std::sqrt(point.bytes) / root_reference;
        rows.push_back({{1.0, root, factor * point.bytes / reference}, point.time_us});
    }
    constexpr unsigned bandwidth_term = 0b100;
    const LawFit fit = fit_law(rows, {.most_terms = most_terms(points), .needed = bandwidth_term});
    FittedComm out;
    out.fit.kind = first.kind;
    out.fit.ranks = first.ranks;
    out.fit.base = Seconds(fit.coefficients[0] * micro);
    out.fit.sqrt_term = fit.coefficients[1] / root_reference * micro;
    out.fit.bandwidth = BytesPerSecond(reference / (fit.coefficients[2] * micro));
    for (std::size_t i = 0; i < points.size(); ++i) {
        out.points.push_back(
            {points[i].bytes, points[i].time_us, fit.predicted[i], fit.fresh_ratio[i], fit.rejected[i]});
    }
    out.fit.mean_abs_error_pct = mean_abs_pct(out.points);
    return out;
}

}  // namespace foreshard
