#include "sim/fit/op_fit.hpp"

#include <algorithm>
#include <set>

#include "sim/fit/curve.hpp"
#include "sim/fit/law_fit.hpp"
#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

constexpr double reference = 1e6;  ///< amounts are counted in millions, so that all terms are of one size

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

Seconds rate_law(const OpLaw& law, double amount) {
    OpLaw plain = law;
    plain.table.clear();
    return law_time(plain, Flops(amount), Bytes(amount));
}

void use_op_curve(FittedOp& fit) {
    fit.law.table = measured_curve(fit.points);
    const auto by_law = [&](double amount) { return rate_law(fit.law, amount); };
    for (Fitted& point : fit.points) {
        point.predicted = table_time(fit.law.table, point.amount, by_law).value / micro;
        point.fresh_ratio = point.time / (without_node(fit.law.table, point.amount, by_law).value / micro);
    }
}

/// A curve has one amount.
bool one_rate(const std::vector<OpPoint>& points, const OpLaw& law) {
    const bool by_flops = law.flops_rate.value > 0.0;
    return by_flops != (law.bytes_rate.value > 0.0) &&
           std::all_of(points.begin(), points.end(),
                       [&](const OpPoint& point) { return (point.flops > 0.0) == by_flops; });
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
    if (one_rate(points, out.law) && wants_curve(out.points)) use_op_curve(out);
    return out;
}

}  // namespace foreshard
