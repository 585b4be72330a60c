#pragma once

#include "sim/plan/task_graph.hpp"
#include "sim/result/report.hpp"

namespace foreshard {

/// p10 to p90 of measured over predicted step time, by the job's calibration.
struct StepBand {
    double low_ratio = 1.0;
    double high_ratio = 1.0;
};

/// That of whole steps where the calibration has one. Else the percentiles of its groups of laws, weighted by the time
/// that each group takes in the step: ops of all stages, the optimizer, exposed communication; what no law covers
/// counts with the profile's own band. Errors of one group are taken to be alike in all its ops, so they do not average
/// out. Precondition: the job has a calibration.
StepBand calibration_band(const Job& job, const TaskGraph& graph, const Report& report);

}  // namespace foreshard
