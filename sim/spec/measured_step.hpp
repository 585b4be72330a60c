#pragma once

#include <string>

#include "sim/spec/job_request.hpp"

namespace foreshard {

/// A plan that was run, and how long its steps took.
struct MeasuredStep {
    JobRequest plan;       ///< without a calibration
    std::string id;        ///< equal for runs of equal plans
    std::string comm;      ///< way of communication
    double step_ms = 0.0;  ///< median
};

}  // namespace foreshard
