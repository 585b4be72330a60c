#pragma once

#include "sim/sim.hpp"
#include "sim/spec/job_request.hpp"

/// Small jobs whose traces differ in kind.
namespace foreshard {

/// Fails the running test when the job cannot run.
Evaluation evaluate_request(const JobRequest& request);

JobRequest one_f_one_b();
JobRequest interleaved();
JobRequest tensor_parallel();
JobRequest overlapped_data_parallel();
JobRequest distributed_optimizer();
/// The last rank has eight times the parameters, so the first one is ahead of it in the next step.
JobRequest steps_that_overlap();
JobRequest fused_passes();
JobRequest blocking_messages();
JobRequest one_rank();
JobRequest long_hop();
JobRequest no_hop();
JobRequest no_time_at_all();

}  // namespace foreshard
