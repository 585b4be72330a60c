#include "sim/fit/calibration_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/fit/comm_fit.hpp"
#include "sim/fit/law_fit.hpp"
#include "sim/fit/lead_fit.hpp"
#include "sim/fit/op_fit.hpp"
#include "sim/fit/statistics.hpp"
#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

bool is_whole(double ranks) {
    constexpr double near = 0.1;
    return std::abs(ranks - std::round(ranks)) < near;
}

bool bound_by_flops(const OpPoint& point) {
    return point.flops > 0.0;
}

class CalibrationFit {
public:
    CalibrationFit(const Measurements& measured, const std::string& id) : measured_(measured) {
        out_.id = id;
        out_.name = id;
        out_.machine = measured.machine;
        out_.cluster = measured.cluster;
        out_.kernels = measured.kernels;
        out_.rejected = measured.rejected;
        out_.inputs = measured.inputs;
        for (const OpPoint& point : measured.ops) take(point);
    }

    Calibration run() {
        settle_slowdowns();
        for (const auto& [name, points] : ops_) add_op(points);
        add_transport();
        add_communication();
        add_optimizer();
        add_overheads();
        add_device();
        for (const auto& [group, points] : groups_) out_.bands.push_back(band_of(group, points));
        return std::move(out_);
    }

private:
    static constexpr int slowdown_rounds = 4;

    double slowdown(double ranks, bool by_flops) const {
        const SharedHost host = shared_host(out_, ranks);
        return by_flops ? host.compute_ratio : host.memory_ratio;
    }

    std::vector<double> slowdowns(const std::vector<OpPoint>& points) const {
        std::vector<double> each;
        each.reserve(points.size());
        for (const OpPoint& point : points) each.push_back(slowdown(point.computing_ranks, bound_by_flops(point)));
        return each;
    }

    void take(const OpPoint& point);
    void settle_slowdowns();
    void settle_once();
    void add_op(const std::vector<OpPoint>& points);
    void add_transport();
    void add_communication();
    void add_optimizer();
    void add_overheads();
    void add_device();
    void record(const std::string& group, const std::string& name, const std::string& amount,
                const std::vector<Fitted>& points, const std::vector<Origin>& origins);
    std::string file_of(const Origin& origin) const;
    void reject(const std::string& what, const Fitted& point, const Origin& origin);

    const Measurements& measured_;
    std::map<std::string, std::vector<OpPoint>> ops_;
    std::map<std::string, std::vector<Fitted>> groups_;
    Calibration out_;
};

std::string CalibrationFit::file_of(const Origin& origin) const {
    return measured_.inputs.empty() ? "" : measured_.inputs[static_cast<std::size_t>(origin.input)].file;
}

void CalibrationFit::take(const OpPoint& point) {
    if (point.flops > 0.0 || point.bytes > 0.0) {
        ops_[point.op].push_back(point);
        return;
    }
    out_.rejected.push_back(
        {file_of(point.origin), point.origin.row, point.op, point.time_us, 0.0, "neither FLOPs nor bytes are known"});
}

/// Where ops ran alone and beside others, laws of all points and the ratio of each number of ranks are settled in turn.
/// Only whole numbers of ranks are fitted: points in between take what is interpolated.
void CalibrationFit::settle_slowdowns() {
    std::map<int, SharedHost> hosts;
    for (const OpPoint& point : measured_.ops) {
        const auto ranks = static_cast<int>(std::lround(point.computing_ranks));
        if (is_whole(point.computing_ranks) && ranks > 1) hosts[ranks] = {ranks, 1.0, 1.0};
    }
    for (const auto& [ranks, host] : hosts) out_.shared_host.push_back(host);
    for (int round = 0; round < slowdown_rounds && !hosts.empty(); ++round) settle_once();
}

void CalibrationFit::settle_once() {
    std::map<std::pair<int, bool>, std::vector<double>> ratios;
    for (const auto& [name, points] : ops_) {
        const FittedOp fit = fit_op(points, slowdowns(points));
        for (std::size_t i = 0; i < points.size(); ++i) {
            if (!is_whole(points[i].computing_ranks)) continue;
            const auto ranks = static_cast<int>(std::lround(points[i].computing_ranks));
            ratios[{ranks, bound_by_flops(points[i])}].push_back(points[i].time_us / fit.points[i].predicted);
        }
    }
    for (SharedHost& host : out_.shared_host) {
        for (const bool by_flops : {true, false}) {
            const auto found = ratios.find({host.ranks, by_flops});
            const auto alone = ratios.find({1, by_flops});
            if (found == ratios.end() || alone == ratios.end()) continue;
            (by_flops ? host.compute_ratio : host.memory_ratio) = median_of(found->second) / median_of(alone->second);
        }
    }
}

void CalibrationFit::reject(const std::string& what, const Fitted& point, const Origin& origin) {
    out_.rejected.push_back({file_of(origin), origin.row, what, point.time, point.predicted,
                             fmt::format("{:.2f} times what the other points say (over four deviations and 20 %)",
                                         point.time / point.predicted)});
}

void CalibrationFit::record(const std::string& group, const std::string& name, const std::string& amount,
                            const std::vector<Fitted>& points, const std::vector<Origin>& origins) {
    out_.residuals.push_back(residual_of(name, amount, points));
    std::vector<Fitted>& all = groups_[group];
    all.insert(all.end(), points.begin(), points.end());
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (points[i].rejected) reject(name, points[i], origins[i]);
    }
}

template <class Point>
std::vector<Origin> origins_of(const std::vector<Point>& points) {
    std::vector<Origin> origins;
    origins.reserve(points.size());
    for (const Point& point : points) origins.push_back(point.origin);
    return origins;
}

void CalibrationFit::add_op(const std::vector<OpPoint>& points) {
    const FittedOp fit = fit_op(points, slowdowns(points));
    out_.ops.push_back(fit.law);
    record(group_of(points.front()), fit.law.op, bound_by_flops(points.front()) ? "flops" : "bytes", fit.points,
           origins_of(points));
}

/// Sums of each run's ops, measured and by the laws: their ratio, median over the runs with this way of communication.
/// A run of another one has the laws in common only.
void CalibrationFit::add_transport() {
    if (measured_.other_transports.empty()) return;
    struct Sums {
        double measured = 0.0;
        double predicted = 0.0;
    };
    std::map<int, Sums> runs;
    for (const OpPoint& point : measured_.ops) {
        const OpLaw* law = find_law(out_, point.op);
        if (law == nullptr || measured_.other_transports.contains(point.origin.input)) continue;
        const double slow = slowdown(point.computing_ranks, bound_by_flops(point));
        runs[point.origin.input].measured += point.calls * point.time_us;
        runs[point.origin.input].predicted +=
            point.calls * slow * law_time(*law, Flops(point.flops), Bytes(point.bytes)).value / micro;
    }
    std::vector<double> ratios;
    for (const auto& [input, sums] : runs) {
        if (sums.predicted > 0.0) ratios.push_back(sums.measured / sums.predicted);
    }
    if (!ratios.empty()) out_.transport_ratio = median_of(ratios);
}

void CalibrationFit::add_communication() {
    std::map<std::pair<CollectiveKind, int>, std::vector<CommPoint>> groups;
    for (const CommPoint& point : measured_.communication) {
        const bool message = point.kind == CollectiveKind::send_recv;
        groups[{point.kind, message ? 2 : point.ranks}].push_back(point);
    }
    for (const auto& [key, measured] : groups) {
        const std::vector<CommPoint> points = as_in_steps(measured);
        const FittedComm fit = fit_comm(points);
        const bool message = key.first == CollectiveKind::send_recv;
        if (message) out_.messages = MessageLaw{fit.fit.base, fit.fit.bandwidth};
        if (!message) out_.collectives.push_back(fit.fit);
        if (!fit.table.empty()) out_.comm_tables.push_back({key.first, key.second, fit.table});
        const std::string kind(to_string(key.first));
        const std::string name = message ? kind : fmt::format("{} of {} ranks", kind, key.second);
        record(message ? "message" : "collective", name, "bytes", fit.points, origins_of(points));
    }
}

void CalibrationFit::add_optimizer() {
    if (measured_.optimizer.empty()) return;
    std::vector<OpPoint> points;
    for (const OptimizerPoint& point : measured_.optimizer) {
        points.push_back({"optimizer", 0.0, point.parameters, point.time_us, point.computing_ranks, point.origin});
    }
    const FittedOp fit = fit_op(points, slowdowns(points));
    out_.optimizer = OptimizerLaw{fit.law.base, fit.law.bytes_rate.value};
    record("optimizer", "optimizer", "parameters", fit.points, origins_of(points));
}

void CalibrationFit::add_overheads() {
    const auto us = [](const std::vector<double>& values) { return Seconds(std::max(median_of(values), 0.0) * micro); };
    if (!measured_.pass_overhead_us.empty()) out_.pass_overhead = us(measured_.pass_overhead_us);
    if (!measured_.step_overhead_us.empty()) out_.step_overhead = us(measured_.step_overhead_us);
    if (!measured_.wakeup_us.empty()) out_.wakeup = us(measured_.wakeup_us);
    if (!measured_.rank_wait_ratio.empty()) out_.rank_wait_ratio = median_of(measured_.rank_wait_ratio);
    out_.rank_lead = fit_rank_lead(measured_.rank_leads);
    if (measured_.overlap.empty()) return;
    std::vector<double> ratios;
    for (const OverlapPoint& point : measured_.overlap) {
        const auto [shorter, longer] = std::minmax(point.compute_alone_us, point.communication_alone_us);
        if (shorter > 0.0) ratios.push_back(std::clamp((point.together_us - longer) / shorter, 0.0, 1.0));
    }
    if (!ratios.empty()) out_.overlap_contention_ratio = median_of(ratios);
}

/// For what has no law of its own: the fastest large GEMM, and the rate of general memory-bound kernels.
void CalibrationFit::add_device() {
    if (!measured_.launch_us.empty()) out_.device.launch = Seconds(median_of(measured_.launch_us) * micro);
    double rate = 0.0;
    for (const OpPoint& point : measured_.ops) {
        if (group_of(point) == "gemm") rate = std::max(rate, point.flops / (point.time_us * micro));
    }
    if (rate > 0.0) out_.device.gemm_rate = FlopsPerSecond(rate);
    const OpLaw* general = find_law(out_, "memory.any");
    if (general != nullptr && general->bytes_rate.value > 0.0) out_.device.memory_bandwidth = general->bytes_rate;
}

}  // namespace

Calibration fit_calibration(const Measurements& measured, const std::string& id) {
    const bool something = !measured.ops.empty() || !measured.communication.empty() || !measured.optimizer.empty() ||
                           !measured.overlap.empty() || measured.kernels;
    if (!something) throw InputError("calibrate", "", "the inputs hold no measured time that can be used");
    return CalibrationFit(measured, id).run();
}

}  // namespace foreshard
