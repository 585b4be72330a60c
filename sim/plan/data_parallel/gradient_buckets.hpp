#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/plan/op.hpp"

/// How frameworks pack gradients into collectives. Pure functions of parameter lists.
namespace foreshard {

/// A gradient, in the order in which backward completes them.
struct GradientTensor {
    std::string_view name;  ///< points to static text
    std::int64_t elements = 0;
    std::int32_t unit = 0;  ///< of the stage (see stage_units)
};

/// Parameters of a stage in the order in which their gradients get ready: reverse of registration. Their elements add
/// up to StageOps::parameters().
std::vector<GradientTensor> gradients_in_ready_order(const Job& job, const StageOps& stage);

struct GradientBucket {
    std::int64_t elements = 0;
    std::int32_t tensors = 0;
    std::int32_t last_unit = 0;  ///< completes it
};

/// torch DDP's and Megatron's rule (torch reducer.cpp compute_bucket_assignment_by_size; Megatron
/// param_and_grad_buffer): a tensor is appended whole, then the bucket closes if it holds its limit or more, so that
/// limits are minima. The first bucket may have a limit of its own.
/// @param first_limit, limit elements; 0: no limit
std::vector<GradientBucket> fill_buckets(const std::vector<GradientTensor>& tensors, double first_limit, double limit);

/// The same with torch's limits in bytes: bucket sizes in bytes. kDefaultFirstBucketBytes is 1 MiB, bucket_cap_mb 25.
std::vector<std::int64_t> ddp_bucket_bytes(const std::vector<GradientTensor>& tensors, int element_bytes,
                                           std::int64_t first_bytes, std::int64_t cap_bytes);

/// MirroredStrategy's NcclAllReduce: all gradients concatenated and split into equal packs (cross_device_utils.py).
std::vector<std::int64_t> mirrored_pack_bytes(std::int64_t gradient_bytes, int packs);

/// Cuts of a backward pass, and the reductions that follow them.
struct StageBuckets {
    struct Part {
        std::int32_t first_unit = 0;
        std::int32_t units = 0;
    };
    struct Reduce {
        double elements = 0.0;
        std::int32_t part = 0;  ///< that completes it
        Seconds wait{};         ///< then until it starts
    };
    std::vector<Part> parts;  ///< in backward order
    std::vector<Reduce> reduces;
};

/// Buckets as parts of a backward over `units` units: a cut wherever a bucket gets complete.
StageBuckets stage_buckets(const std::vector<GradientBucket>& buckets, std::int32_t units);

/// The job's rule for one stage. Megatron buckets only the first pipeline rank's first chunk, which is the first stage
/// (distributed_data_parallel.py: "if disable_bucketing or pp_rank > 0: bucket_size = None").
StageBuckets bucket_stage(const Job& job, const StageOps& stage, bool first_stage);

}  // namespace foreshard
