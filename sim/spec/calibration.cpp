#include "sim/spec/calibration.hpp"

#include <algorithm>
#include <cmath>

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

}  // namespace

const OpLaw* find_law(const Calibration& calibration, std::string_view op) {
    const auto found = std::lower_bound(calibration.ops.begin(), calibration.ops.end(), op,
                                        [](const OpLaw& law, std::string_view name) { return law.op < name; });
    return found != calibration.ops.end() && found->op == op ? &*found : nullptr;
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

Seconds law_time(const OpLaw& law, Flops flops, Bytes bytes) {
    const Seconds formula = by_formula(law, flops, bytes);
    if (law.table.size() < 2) return formula;
    const double amount = law.flops_rate.value > 0.0 ? flops.value : bytes.value;
    const OpLaw::Point& first = law.table.front();
    const OpLaw::Point& last = law.table.back();
    // Outside, the law goes on from the end of the table.
    const auto scaled = [&](const OpLaw::Point& end) {
        const Seconds at_end = by_formula(law, Flops(end.amount), Bytes(end.amount));
        return formula * (end.time / at_end);
    };
    if (amount <= first.amount) return scaled(first);
    if (amount >= last.amount) return scaled(last);
    const auto above = std::lower_bound(law.table.begin(), law.table.end(), amount,
                                        [](const OpLaw::Point& point, double wanted) { return point.amount < wanted; });
    return between(*(above - 1), *above, amount);
}

}  // namespace foreshard
