#include "sim/fit/curve.hpp"

#include <cmath>
#include <map>

#include "sim/fit/law_fit.hpp"
#include "sim/fit/statistics.hpp"
#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

constexpr std::size_t dense_amounts = 10;
constexpr std::size_t wide_amounts = 4;
constexpr double wide_span = 100.0;
constexpr std::size_t most_nodes = 24;
constexpr double law_fails_above_pct = 8.0;

struct AmountTimes {
    std::vector<double> times;
    double predicted = 0.0;
};

/// Times of every amount over the points that were not rejected, and what the law says of it.
std::map<double, AmountTimes> by_amount(const std::vector<Fitted>& points) {
    std::map<double, AmountTimes> amounts;
    for (const Fitted& point : points) {
        if (point.rejected || !(point.amount > 0.0)) continue;
        AmountTimes& found = amounts[point.amount];
        found.times.push_back(point.time);
        found.predicted = point.predicted;
    }
    return amounts;
}

std::vector<OpLaw::Point> thinned(const std::vector<OpLaw::Point>& all) {
    if (all.size() <= most_nodes) return all;
    std::vector<OpLaw::Point> some;
    for (std::size_t i = 0; i < most_nodes; ++i) some.push_back(all[i * (all.size() - 1) / (most_nodes - 1)]);
    return some;
}

}  // namespace

bool wants_curve(const std::vector<Fitted>& points) {
    std::vector<double> errors_pct;
    const std::map<double, AmountTimes> amounts = by_amount(points);
    if (amounts.size() < wide_amounts) return false;
    errors_pct.reserve(amounts.size());
    const bool wide = amounts.rbegin()->first >= wide_span * amounts.begin()->first;
    for (const auto& [amount, found] : amounts) {
        errors_pct.push_back(100.0 * std::abs(found.predicted / median_of(found.times) - 1.0));
    }
    return (wide || amounts.size() >= dense_amounts) && quantile_of(errors_pct, 0.9) > law_fails_above_pct;
}

std::vector<OpLaw::Point> measured_curve(const std::vector<Fitted>& points) {
    const std::map<double, AmountTimes> amounts = by_amount(points);
    std::vector<double> logs;
    std::vector<double> weights;
    for (const auto& [amount, found] : amounts) {
        logs.push_back(std::log(median_of(found.times)));
        weights.push_back(static_cast<double>(found.times.size()));
    }
    const std::vector<double> rising = monotone(logs, weights);
    std::vector<OpLaw::Point> curve;
    curve.reserve(amounts.size());
    std::size_t i = 0;
    for (const auto& [amount, found] : amounts) curve.push_back({amount, Seconds(std::exp(rising[i++]) * micro)});
    return thinned(curve);
}

Seconds without_node(std::vector<OpLaw::Point> curve, double amount, const std::function<Seconds(double)>& by_law) {
    std::erase_if(curve, [&](const OpLaw::Point& node) { return node.amount == amount; });
    return curve.size() < 2 ? by_law(amount) : table_time(curve, amount, by_law);
}

}  // namespace foreshard
