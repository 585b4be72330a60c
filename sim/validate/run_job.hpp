#pragma once

#include <string>

#include "sim/spec/job_request.hpp"
#include "sim/validate/dataset.hpp"

namespace foreshard {

/// A row as a job, or why it cannot be one (yet).
struct RunRequest {
    JobRequest request;
    std::string skipped;  ///< reason; empty: the request stands
    std::vector<std::string> assumptions;
};

RunRequest request_of(const PublishedRun& run);

}  // namespace foreshard
