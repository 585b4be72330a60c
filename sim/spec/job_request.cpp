#include "sim/spec/job_request.hpp"

#include "sim/spec/job_request_fields.hpp"

namespace foreshard {

JobRequest merge(const JobRequest& file, const JobRequest& flags) {
    JobRequest merged = file;
    const auto take = [&](const char* /*name*/, auto member) {
        if (flags.*member) merged.*member = flags.*member;
    };
    take("model", &JobRequest::model);
    take("cluster", &JobRequest::cluster);
    take("software", &JobRequest::software);
    take("stage_times", &JobRequest::stage_times);
    take("schedule_file", &JobRequest::schedule_file);
    take("schedule_counts", &JobRequest::schedule_counts);
    take("calibration", &JobRequest::calibration);
    take("gpus", &JobRequest::gpus);
    visit_plan_fields(take);
    visit_batch_fields(take);
    visit_model_fields(take);
    return merged;
}

}  // namespace foreshard
