#include "sim/fit/op_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/fit/law_fit.hpp"
#include "sim/fit/statistics.hpp"
#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

constexpr double reference = 1e6;  ///< amounts are counted in millions, so that all terms are of one size
constexpr std::size_t table_amounts = 10;
constexpr std::size_t wide_amounts = 4;  ///< are enough where they span this ratio: a cache ends somewhere between
constexpr double wide_span = 100.0;
constexpr std::size_t table_nodes = 24;
constexpr double table_above_pct = 8.0;

double amount_of(const OpPoint& point) {
    return point.flops > 0.0 ? point.flops : point.bytes;
}

std::size_t different_amounts(const std::vector<OpPoint>& points) {
    std::set<std::pair<double, double>> amounts;
    for (const OpPoint& point : points) amounts.insert({point.flops, point.bytes});
    return amounts.size();
}

int most_terms(std::size_t amounts) {
    if (amounts <= 2) return 1;
    return amounts <= 5 ? 2 : 3;
}

std::vector<LawPoint> law_points(const std::vector<OpPoint>& points, const std::vector<double>& slowdown) {
    std::vector<LawPoint> rows;
    for (std::size_t i = 0; i < points.size(); ++i) {
        rows.push_back(
            {{1.0, points[i].flops / reference, points[i].bytes / reference}, points[i].time_us / slowdown[i]});
    }
    return rows;
}

double rate_of(double us_per_million) {
    return us_per_million > 0.0 ? reference / (us_per_million * micro) : 0.0;
}

/// Log of the median time of every amount, made monotone.
std::vector<OpLaw::Point> curve(const std::vector<OpPoint>& points, const std::vector<LawPoint>& rows,
                                const std::vector<Fitted>& fitted) {
    std::map<double, std::vector<double>> times;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (!fitted[i].rejected) times[amount_of(points[i])].push_back(rows[i].time);
    }
    std::vector<double> logs;
    std::vector<double> weights;
    for (const auto& [amount, found] : times) {
        logs.push_back(std::log(median_of(found)));
        weights.push_back(static_cast<double>(found.size()));
    }
    const std::vector<double> rising = monotone(logs, weights);
    std::vector<OpLaw::Point> table;
    table.reserve(times.size());
    std::size_t i = 0;
    for (const auto& [amount, found] : times) table.push_back({amount, Seconds(std::exp(rising[i++]) * micro)});
    return table;
}

std::vector<OpLaw::Point> thinned(const std::vector<OpLaw::Point>& all) {
    if (all.size() <= table_nodes) return all;
    std::vector<OpLaw::Point> some;
    for (std::size_t i = 0; i < table_nodes; ++i) some.push_back(all[i * (all.size() - 1) / (table_nodes - 1)]);
    return some;
}

double time_us(const OpLaw& law, const OpPoint& point) {
    return law_time(law, Flops(point.flops), Bytes(point.bytes)).value / micro;
}

/// What the table would say of a node without it.
double without_node(OpLaw law, const OpPoint& point) {
    const double amount = amount_of(point);
    std::erase_if(law.table, [&](const OpLaw::Point& node) { return node.amount == amount; });
    return time_us(law, point);
}

void use_table(const std::vector<OpPoint>& points, const std::vector<LawPoint>& rows, FittedOp& fit) {
    fit.law.table = thinned(curve(points, rows, fit.points));
    for (std::size_t i = 0; i < points.size(); ++i) {
        fit.points[i].predicted = time_us(fit.law, points[i]);
        fit.points[i].fresh_ratio = fit.points[i].time / without_node(fit.law, points[i]);
    }
}

bool wants_table(const std::vector<OpPoint>& points, const FittedOp& fit) {
    const bool one_rate = (fit.law.flops_rate.value > 0.0) != (fit.law.bytes_rate.value > 0.0);
    const bool by_flops = fit.law.flops_rate.value > 0.0;
    const bool of_amount = std::all_of(points.begin(), points.end(),
                                       [&](const OpPoint& point) { return (point.flops > 0.0) == by_flops; });
    if (!one_rate || !of_amount) return false;
    std::set<double> amounts;
    for (const OpPoint& point : points) amounts.insert(amount_of(point));
    const bool wide = amounts.size() >= wide_amounts && *amounts.rbegin() >= wide_span * *amounts.begin();
    return (wide || amounts.size() >= table_amounts) && residual_of("", "", fit.points).p90_abs_pct > table_above_pct;
}

}  // namespace

std::string group_of(const OpPoint& point) {
    if (!(point.flops > 0.0)) return "memory";
    return point.op.find("attention") != std::string::npos ? "attention" : "gemm";
}

FittedOp fit_op(const std::vector<OpPoint>& points, const std::vector<double>& slowdown) {
    const std::vector<LawPoint> rows = law_points(points, slowdown);
    constexpr unsigned some_rate = 0b110;
    const LawFit fit =
        fit_law(rows, {.fewest_terms = true, .most_terms = most_terms(different_amounts(points)), .needed = some_rate});
    FittedOp out;
    out.law.op = points.front().op;
    out.law.base = Seconds(fit.coefficients[0] * micro);
    out.law.flops_rate = FlopsPerSecond(rate_of(fit.coefficients[1]));
    out.law.bytes_rate = BytesPerSecond(rate_of(fit.coefficients[2]));
    const auto amount = [&](const OpPoint& point) { return fit.coefficients[1] > 0.0 ? point.flops : point.bytes; };
    out.law.least_amount = out.law.most_amount = amount(points.front());
    for (std::size_t i = 0; i < points.size(); ++i) {
        out.law.least_amount = std::min(out.law.least_amount, amount(points[i]));
        out.law.most_amount = std::max(out.law.most_amount, amount(points[i]));
        out.points.push_back(
            {amount_of(points[i]), rows[i].time, fit.predicted[i], fit.fresh_ratio[i], fit.rejected[i]});
    }
    if (wants_table(points, out)) use_table(points, rows, out);
    return out;
}

}  // namespace foreshard
