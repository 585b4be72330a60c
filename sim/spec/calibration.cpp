#include "sim/spec/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace foreshard {

namespace {

Seconds by_formula(const OpLaw& law, Flops flops, Bytes bytes) {
    Seconds time = law.base;
    if (law.flops_rate.value > 0.0) time += flops / law.flops_rate;
    if (law.bytes_rate.value > 0.0) time += bytes / law.bytes_rate;
    return time;
}

/// A line in logarithms through two points.
Seconds between(const OpLaw::Point& low, const OpLaw::Point& high, double amount) {
    const double share = std::log(amount / low.amount) / std::log(high.amount / low.amount);
    return Seconds(low.time.value * std::pow(high.time / low.time, share));
}

/// Standard normal quantile by bisection of its distribution.
double normal_quantile(double p) {
    double low = -10.0;
    double high = 10.0;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2.0;
        (std::erfc(-middle / std::sqrt(2.0)) / 2.0 < p ? low : high) = middle;
    }
    return low;
}

/// Of n independent standard normal errors: exactly for two, within 3 % for more (Blom 1958).
double expected_largest(int n) {
    if (n == 2) return 1.0 / std::sqrt(std::numbers::pi);
    return normal_quantile((n - 0.375) / (n + 0.25));
}

}  // namespace

const OpLaw* find_law(const Calibration& calibration, std::string_view op) {
    const auto found = std::lower_bound(calibration.ops.begin(), calibration.ops.end(), op,
                                        [](const OpLaw& law, std::string_view name) { return law.op < name; });
    return found != calibration.ops.end() && found->op == op ? &*found : nullptr;
}

const CommTable* find_table(const Calibration& calibration, CollectiveKind kind, int ranks) {
    const auto found = std::find_if(calibration.comm_tables.begin(), calibration.comm_tables.end(),
                                    [&](const CommTable& table) { return table.kind == kind && table.ranks == ranks; });
    return found != calibration.comm_tables.end() ? &*found : nullptr;
}

Seconds rank_wait(const RankLeadLaw& law, Seconds computed, int ranks) {
    if (ranks < 2 || !(computed.value > 0.0)) return Seconds(0.0);
    const double pair = law.ratio * std::pow(computed / law.after, -law.exponent);
    return computed * (pair * expected_largest(ranks) / expected_largest(2));
}

SharedHost shared_host(const Calibration& calibration, double ranks) {
    SharedHost below{1, 1.0, 1.0};
    for (const SharedHost& entry : calibration.shared_host) {
        if (entry.ranks < ranks) {
            below = entry;
            continue;
        }
        if (entry.ranks <= below.ranks) return entry;
        const double share = (ranks - below.ranks) / (entry.ranks - below.ranks);
        return {static_cast<int>(ranks), std::lerp(below.compute_ratio, entry.compute_ratio, share),
                std::lerp(below.memory_ratio, entry.memory_ratio, share)};
    }
    return below;
}

Precision measured_precision(const MeasuredMachine& machine) {
    return parse_precision(machine.dtype).value_or(Precision::fp32);
}

bool laws_apply(const Job& job) {
    return job.calibration != nullptr && measured_precision(job.calibration->machine) == job.plan.precision;
}

Seconds table_time(const std::vector<OpLaw::Point>& points, double amount,
                   const std::function<Seconds(double)>& by_law) {
    const OpLaw::Point& first = points.front();
    const OpLaw::Point& last = points.back();
    // Outside, the law goes on from the end of the table.
    const auto scaled = [&](const OpLaw::Point& end) { return by_law(amount) * (end.time / by_law(end.amount)); };
    if (amount <= first.amount) return scaled(first);
    if (amount >= last.amount) return scaled(last);
    const auto above = std::lower_bound(points.begin(), points.end(), amount,
                                        [](const OpLaw::Point& point, double wanted) { return point.amount < wanted; });
    return between(*(above - 1), *above, amount);
}

Seconds law_time(const OpLaw& law, Flops flops, Bytes bytes) {
    if (law.table.size() < 2) return by_formula(law, flops, bytes);
    // A table has one rate, of its amount.
    const double amount = law.flops_rate.value > 0.0 ? flops.value : bytes.value;
    return table_time(law.table, amount, [&](double of) { return by_formula(law, Flops(of), Bytes(of)); });
}

}  // namespace foreshard
