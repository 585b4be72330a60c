#include "sim/fit/holdout.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "sim/fit/comm_fit.hpp"
#include "sim/fit/quality.hpp"
#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

constexpr int one_of = 5;
constexpr int first_held = 2;

/// Deals the points of each group in the order in which they were measured.
template <class Point, class Key>
void deal(const std::vector<Point>& all, Key key, std::vector<Point>& kept, std::vector<Point>& held) {
    std::map<std::string, int> seen;
    for (const Point& point : all) {
        const int place = seen[key(point)]++;
        (place % one_of == first_held ? held : kept).push_back(point);
    }
}

std::string group_name(const CommPoint& point) {
    const std::string kind(to_string(point.kind));
    return point.kind == CollectiveKind::send_recv ? kind : fmt::format("{} of {} ranks", kind, point.ranks);
}

Seconds comm_time_of(const Calibration& calibration, const CollectiveFit& fit, double bytes) {
    const auto by_law = [&](double size) { return fitted_time(fit, size); };
    const CommTable* table = find_table(calibration, fit.kind, fit.ranks);
    return table != nullptr ? table_time(table->points, bytes, by_law) : by_law(bytes);
}

class ErrorTable {
public:
    explicit ErrorTable(const Calibration& calibration) : calibration_(calibration) {}

    void add(const OpPoint& point);
    void add(const OptimizerPoint& point);
    void add(const CommPoint& point);
    std::vector<CalibrationResidual> residuals() const;

private:
    struct Group {
        std::string amount;
        std::vector<Fitted> points;
    };
    void add(const std::string& group, const char* kind, double amount, double time_us, Seconds predicted) {
        groups_[group].amount = kind;
        groups_[group].points.push_back({amount, time_us, predicted.value / micro, 1.0, false});
    }

    const Calibration& calibration_;
    std::map<std::string, Group> groups_;
};

void ErrorTable::add(const OpPoint& point) {
    const OpLaw* law = find_law(calibration_, point.op);
    if (law == nullptr) return;
    const SharedHost host = shared_host(calibration_, point.computing_ranks);
    const bool computes = point.flops > 0.0;
    const Seconds alone = law_time(*law, Flops(point.flops), Bytes(point.bytes));
    add(point.op, computes ? "flops" : "bytes", computes ? point.flops : point.bytes, point.time_us,
        alone * (computes ? host.compute_ratio : host.memory_ratio));
}

void ErrorTable::add(const OptimizerPoint& point) {
    if (!calibration_.optimizer) return;
    const double slow = shared_host(calibration_, point.computing_ranks).memory_ratio;
    const OptimizerLaw& law = *calibration_.optimizer;
    add("optimizer", "parameters", point.parameters, point.time_us,
        (law.base + Seconds(point.parameters / law.parameters_per_second)) * slow);
}

void ErrorTable::add(const CommPoint& point) {
    if (point.kind == CollectiveKind::send_recv) {
        if (!calibration_.messages) return;
        const MessageLaw& law = *calibration_.messages;
        const CollectiveFit fit{CollectiveKind::send_recv, 2, law.base, 0.0, law.bandwidth};
        return add(group_name(point), "bytes", point.bytes, point.time_us,
                   comm_time_of(calibration_, fit, point.bytes));
    }
    for (const CollectiveFit& fit : calibration_.collectives) {
        if (fit.kind != point.kind || fit.ranks != point.ranks) continue;
        return add(group_name(point), "bytes", point.bytes, point.time_us,
                   comm_time_of(calibration_, fit, point.bytes));
    }
}

std::vector<CalibrationResidual> ErrorTable::residuals() const {
    std::vector<CalibrationResidual> all;
    for (const auto& [name, group] : groups_) all.push_back(residual_of(name, group.amount, group.points));
    return all;
}

}  // namespace

HoldOut hold_out(const Measurements& measured) {
    HoldOut out{measured, measured};
    for (Measurements* half : {&out.kept, &out.held}) {
        half->ops.clear();
        half->communication.clear();
        half->optimizer.clear();
    }
    deal(
        measured.ops, [](const OpPoint& point) { return point.op; }, out.kept.ops, out.held.ops);
    deal(measured.communication, group_name, out.kept.communication, out.held.communication);
    deal(
        measured.optimizer, [](const OptimizerPoint&) { return std::string(); }, out.kept.optimizer,
        out.held.optimizer);
    return out;
}

std::vector<CalibrationResidual> errors_at(const Calibration& calibration, const Measurements& measured) {
    ErrorTable table(calibration);
    for (const OpPoint& point : measured.ops) table.add(point);
    for (const OptimizerPoint& point : measured.optimizer) table.add(point);
    for (const CommPoint& point : measured.communication) table.add(point);
    return table.residuals();
}

}  // namespace foreshard
