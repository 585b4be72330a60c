#include "sim/spec/job.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "sim/spec/schedule_kinds.hpp"

namespace foreshard {

std::int64_t microbatch_count(const Job& job) {
    assert(job.micro_batch > 0 && job.plan.dp > 0);
    return job.global_batch / (job.micro_batch * job.plan.dp);
}

std::optional<VocabularySplit> vocabulary_split(ScheduleKind kind) {
    switch (kind) {
        case ScheduleKind::vocab_1:
        case ScheduleKind::v_half_vocab_1:
            return VocabularySplit::two_barriers;
        case ScheduleKind::vocab_2:
            return VocabularySplit::one_barrier;
        case ScheduleKind::interlaced:
            return VocabularySplit::interlaced;
        default:
            return std::nullopt;
    }
}

Placement default_placement(ScheduleKind kind) {
    return traits_of(kind).placement;
}

Placement placement_of(const ParallelPlan& plan) {
    if (plan.placement) return *plan.placement;
    const Placement placement = default_placement(plan.schedule);
    if (placement == Placement::loop && plan.vpp == 1) return Placement::linear;
    return placement == Placement::linear && plan.vpp > 1 ? Placement::loop : placement;
}

int vocabulary_shares(const ParallelPlan& plan) {
    return vocabulary_split(plan.schedule) ? plan.pp : 1;
}

std::int64_t padded_vocab(const Job& job) {
    const std::int64_t padded = padded_vocab(job.model, job.plan.tp);
    if (job.model.vocab_divisor <= 0) return padded;
    // The authors demand a divisor that is a multiple of all shards, which this makes of any.
    const std::int64_t by_divisor = std::int64_t{1} * job.model.vocab_divisor * job.plan.tp;
    const std::int64_t by_shard = std::int64_t{1} * vocabulary_shares(job.plan) * job.plan.tp;
    const std::int64_t multiple = std::lcm(by_divisor, by_shard);
    return (padded + multiple - 1) / multiple * multiple;
}

int activation_bytes(Precision precision) {
    return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}

int gradient_bytes(const Job& job) {
    switch (job.plan.precision) {
        case Precision::fp32:
        case Precision::tf32:
            return 4;
        case Precision::fp16:
            return job.software.structure.gradient_bytes_fp16;
        case Precision::bf16:
        case Precision::fp8:
        case Precision::mxfp8:
        case Precision::nvfp4:
            return job.software.structure.gradient_bytes_bf16;
    }
    return 4;
}

int expert_tp(const ParallelPlan& plan) {
    return plan.etp > 0 ? plan.etp : plan.tp;
}

int expert_data_parallel(const Job& job) {
    return std::max(job.gpus / (expert_tp(job.plan) * job.plan.ep * job.plan.pp), 1);
}

}  // namespace foreshard
