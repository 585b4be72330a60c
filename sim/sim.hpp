#pragma once

#include "sim/engine/evaluate.hpp"
#include "sim/json_report.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/job_request.hpp"

/// Front door of the library: resolve a request, check the job, evaluate it, write its report.
namespace foreshard {

/// Version of the library, e.g. "0.1.0".
const char* version();

}  // namespace foreshard
