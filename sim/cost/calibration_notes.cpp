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

}  // namespace

std::vector<std::string> calibration_notes(const Job& job, const TaskGraph& graph) {
    if (!job.calibration) return {};
    if (!laws_apply(job)) {
        return {fmt::format("calibration {}: its op laws were measured in {}, and the plan is in {}: not used",
                            job.calibration->id, job.calibration->machine.dtype, to_string(job.plan.precision))};
    }
    Coverage coverage(job);
    for (const StageOps& stage : graph.stages) {
        for (const OpBlock& block : stage.blocks) {
            coverage.add(block.forward);
            coverage.add(block.input_grad);
            coverage.add(block.weight_grad);
        }
    }
    return coverage.notes();
}

}  // namespace foreshard
