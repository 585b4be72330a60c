#include "sim/search/space_costs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/spec/calibration.hpp"

namespace foreshard {

namespace {

Seconds wakeup_of(const Job& job) {
    return job.calibration != nullptr ? job.calibration->wakeup.value_or(Seconds(0.0)) : Seconds(0.0);
}

/// A rank alone is a bound only where others never make it faster.
void refuse_helpful_neighbours(const Calibration& calibration) {
    SharedHost before{1, 1.0, 1.0};
    for (const SharedHost& entry : calibration.shared_host) {
        if (entry.compute_ratio < before.compute_ratio || entry.memory_ratio < before.memory_ratio) {
            throw InputError("--calibration", "",
                             fmt::format("{} says that {} ranks of a host compute faster than {}: no plan can be "
                                         "bounded by that; simulate single plans with it",
                                         calibration.id, entry.ranks, before.ranks));
        }
        before = entry;
    }
}

}  // namespace

SpaceCosts::SpaceCosts(const Space& space)
    : job_(resolve(space.base)), network_(job_), tasks_(network_, wakeup_of(job_)) {
    if (job_.calibration != nullptr) refuse_helpful_neighbours(*job_.calibration);
    for (const Precision precision : space.precisions) {
        JobRequest request = space.base;
        request.precision = std::string(to_string(precision));
        Job job = resolve(request);
        job.computing_ranks = 1.0;
        formats_.push_back(std::make_unique<Format>(std::move(job)));
    }
}

const CostModel& SpaceCosts::of(Precision precision) const {
    const auto format = std::find_if(formats_.begin(), formats_.end(),
                                     [&](const auto& known) { return known->job.plan.precision == precision; });
    return (*format)->cost;
}

}  // namespace foreshard
