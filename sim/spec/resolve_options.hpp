#pragma once

#include "sim/spec/job_request.hpp"

/// Steps of resolve(): options that are names, options that this version refuses, and changes to the model's shape.
namespace foreshard {

/// @throws InputError with the valid names and the closest one
ScheduleKind parse_schedule(const std::string& text);
Placement parse_placement(const std::string& text);
Recompute parse_recompute(const std::string& text);
RecomputeMethod parse_recompute_method(const std::string& text);
Precision parse_precision_option(const std::string& text);
DataParallelKind parse_data_parallel(const std::string& text);

/// Settles kind, sharding, buckets and options of data parallelism. Precondition: dp, pp, cluster and software are
/// settled. @throws InputError when what is asked for contradicts itself
void settle_data_parallel(const JobRequest& request, Job& job);

/// Puts what the job's calibration says of links, device and software in the place of what cluster and software say.
/// Precondition: cluster, software and precision are settled.
void apply_calibration(Job& job);

/// Replicas of one node, where optimizer shards stay by default in some frameworks; ranks of a node first fill tensor
/// parallelism.
int replicas_in_node(const Job& job);

/// Applies the request's changes of the model's shape, and what follows from them, with a remark on each.
/// @throws InputError when they do not determine a shape
void apply_model_changes(const JobRequest& request, LoadedModel& model);

/// The degrees and the order that --mesh says. @throws InputError when they contradict other flags
JobRequest with_mesh(const JobRequest& request);

/// Speeds of ranks and links, jitter and runs. @throws InputError for malformed or out-of-range values
Variability parse_variability(const JobRequest& request);

/// Values so large that arithmetic on them would overflow, or a run would never end. @throws InputError
void refuse_out_of_range(const Job& job);

}  // namespace foreshard
