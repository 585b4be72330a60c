#pragma once

#include "sim/spec/job_request.hpp"

namespace foreshard {

/// Reads the request's schedule file, if it names one, and counts what it holds: defaults of pp, vpp and gbs come from
/// it, whose format sim/spec does not know.
/// @throws UnreadableFile, InputError
JobRequest with_schedule_counts(JobRequest request);

}  // namespace foreshard
