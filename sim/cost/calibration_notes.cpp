#include "sim/cost/calibration_notes.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cost/calibrated.hpp"

namespace foreshard {

namespace {

constexpr double far_outside = 2.0;  ///< over the largest amount measured, or below the smallest

class Coverage {
public:
    explicit Coverage(const Job& job) : calibration_(*job.calibration), cost_(job) {}

    void add(const std::vector<Op>& ops) {
        for (const Op& op : ops) {
            if (op.kind != OpKind::collective) add(op);
        }
    }
    std::vector<std::string> notes() const;

private:
    void add(const Op& op);
    void look_outside(const Op& op, const OpLaw& law);

    const Calibration& calibration_;
    CalibratedCost cost_;
    std::map<TimeSource, std::set<std::string>> by_source_;
    std::map<std::string, double> outside_;  ///< how far, as a ratio of at least 1
};

void Coverage::add(const Op& op) {
    const TimeSource source = cost_.source(op);
    by_source_[source].insert(std::string(op.name));
    if (source == TimeSource::law) look_outside(op, *find_law(calibration_, op.name));
    if (source == TimeSource::class_law) look_outside(op, *find_law(calibration_, op_class(op)));
}

void Coverage::look_outside(const Op& op, const OpLaw& law) {
    const double amount = law.flops_rate.value > 0.0 ? op.flops.value : (op.read + op.written).value;
    if (!(amount > 0.0) || !(law.least_amount > 0.0)) return;
    const double ratio = std::max(amount / law.most_amount, law.least_amount / amount);
    double& farthest = outside_[std::string(op.name)];
    farthest = std::max(farthest, ratio);
}

std::vector<std::string> Coverage::notes() const {
    const std::string& id = calibration_.id;
    std::vector<std::string> notes;
    const auto tell = [&](TimeSource source, const char* how) {
        const auto found = by_source_.find(source);
        if (found != by_source_.end()) {
            notes.push_back(fmt::format("calibration {}: {}: {}", id, how, fmt::join(found->second, ", ")));
        }
    };
    tell(TimeSource::law, "measured laws of");
    tell(TimeSource::kernel_table, "measured kernel rates of");
    tell(TimeSource::class_law, "laws of like ops for");
    tell(TimeSource::model, "does not cover, so that the model's figures stand for");
    std::vector<std::string> outside;
    for (const auto& [name, ratio] : outside_) {
        if (ratio > far_outside) outside.push_back(fmt::format("{} (x {:.1f})", name, ratio));
    }
    if (!outside.empty()) {
        notes.push_back(
            fmt::format("calibration {}: far outside the sizes that were measured: {}", id, fmt::join(outside, ", ")));
    }
    return notes;
}

/// Kinds of communication of the graph: of its tasks, and inside passes.
std::set<CollectiveKind> kinds_used(const TaskGraph& graph) {
    std::set<CollectiveKind> kinds;
    for (const CommClass& comm : graph.comm_classes) {
        if (comm.axis != Axis::host) kinds.insert(comm.kind);
    }
    const auto add = [&](const std::vector<Op>& ops) {
        for (const Op& op : ops) {
            if (op.kind == OpKind::collective) kinds.insert(op.collective);
        }
    };
    for (const StageOps& stage : graph.stages) {
        for (const OpBlock& block : stage.blocks) {
            add(block.forward);
            add(block.input_grad);
            add(block.weight_grad);
        }
    }
    return kinds;
}

bool was_measured(const Calibration& calibration, CollectiveKind kind) {
    if (kind == CollectiveKind::send_recv) return calibration.messages.has_value();
    return std::any_of(calibration.collectives.begin(), calibration.collectives.end(),
                       [&](const CollectiveFit& fit) { return fit.kind == kind; });
}

/// What the model stands in for, by name.
std::vector<std::string> communication_notes(const Job& job, const TaskGraph& graph) {
    std::vector<std::string> missing;
    for (const CollectiveKind kind : kinds_used(graph)) {
        if (was_measured(*job.calibration, kind)) continue;
        missing.emplace_back(kind == CollectiveKind::send_recv ? "messages between ranks" : to_string(kind));
    }
    if (missing.empty()) return {};
    return {fmt::format("calibration {}: measured no {}: the links of {} stand for them", job.calibration->id,
                        fmt::join(missing, ", "), job.cluster.id)};
}

}  // namespace

std::vector<std::string> calibration_notes(const Job& job, const TaskGraph& graph) {
    if (!job.calibration) return {};
    std::vector<std::string> notes = communication_notes(job, graph);
    if (!laws_apply(job)) {
        notes.push_back(fmt::format("calibration {}: its op laws were measured in {}, and the plan is in {}: not used",
                                    job.calibration->id, job.calibration->machine.dtype,
                                    to_string(job.plan.precision)));
        return notes;
    }
    Coverage coverage(job);
    for (const StageOps& stage : graph.stages) {
        for (const OpBlock& block : stage.blocks) {
            coverage.add(block.forward);
            coverage.add(block.input_grad);
            coverage.add(block.weight_grad);
        }
    }
    for (std::string& note : coverage.notes()) notes.push_back(std::move(note));
    return notes;
}

}  // namespace foreshard
