#include "sim/engine/calibration_band.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "sim/cost/calibrated.hpp"
#include "sim/result/account.hpp"
#include "sim/spec/calibration.hpp"

namespace foreshard {

namespace {

constexpr const char* uncovered = "";

std::string group_of(const Op& op) {
    if (op.kind == OpKind::memory) return "memory";
    return op.kind == OpKind::gemm ? "gemm" : "attention";
}

class StepShares {
public:
    StepShares(const Job& job, const TaskGraph& graph) : job_(job), cost_(job) {
        for (const StageOps& stage : graph.stages) {
            for (const OpBlock& block : stage.blocks) add(block);
        }
    }

    void add_rank(const RankAccount& account);
    StepBand band() const;

private:
    void add(const OpBlock& block);
    void add(const std::vector<Op>& ops, double times);
    const CalibrationBand* band_of(const std::string& group) const;

    const Job& job_;
    CalibratedCost cost_;
    std::map<std::string, double> seconds_;  ///< by group, over all ranks of one replica
};

void StepShares::add(const OpBlock& block) {
    const double times = static_cast<double>(block.repeat) * static_cast<double>(microbatch_count(job_));
    add(block.forward, times);
    add(block.input_grad, times);
    add(block.weight_grad, times);
}

void StepShares::add(const std::vector<Op>& ops, double times) {
    for (const Op& op : ops) {
        if (op.kind == OpKind::collective) continue;
        const bool known = cost_.source(op) != TimeSource::model;
        seconds_[known ? group_of(op) : uncovered] += times * cost_.time(op).seconds.value;
    }
}

void StepShares::add_rank(const RankAccount& account) {
    const auto seconds = [&](Account part) { return to_seconds(account[static_cast<std::size_t>(part)]).value; };
    seconds_["optimizer"] += seconds(Account::optimizer);
    seconds_["message"] += seconds(Account::exposed_pp);
    for (const Account part : {Account::exposed_tp, Account::exposed_cp, Account::exposed_ep, Account::exposed_dp}) {
        seconds_["collective"] += seconds(part);
    }
}

const CalibrationBand* StepShares::band_of(const std::string& group) const {
    for (const CalibrationBand& band : job_.calibration->bands) {
        if (band.group == group) return &band;
    }
    return nullptr;
}

StepBand StepShares::band() const {
    const double width = job_.software.uncertainty_p90_pct / 100.0;
    StepBand sum{0.0, 0.0};
    double all = 0.0;
    for (const auto& [group, seconds] : seconds_) {
        const CalibrationBand* band = band_of(group);
        sum.low_ratio += seconds * (band != nullptr ? band->p10_ratio : 1.0 - width);
        sum.high_ratio += seconds * (band != nullptr ? band->p90_ratio : 1.0 + width);
        all += seconds;
    }
    if (!(all > 0.0)) return {};
    return {sum.low_ratio / all, sum.high_ratio / all};
}

}  // namespace

StepBand calibration_band(const Job& job, const TaskGraph& graph, const Report& report) {
    if (const auto& step = job.calibration->step_band) return {step->p10_ratio, step->p90_ratio};
    StepShares shares(job, graph);
    for (const RankReport& rank : report.ranks) shares.add_rank(rank.account);
    return shares.band();
}

}  // namespace foreshard
