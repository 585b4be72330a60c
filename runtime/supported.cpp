#include "runtime/supported.hpp"

#include <fmt/format.h>

#include "sim/spec/data_parallel.hpp"
#include "sim/spec/schedule_kinds.hpp"

namespace foreshard::runtime {

namespace {

void check_axes(const ParallelPlan& plan, std::vector<BrokenRule>& rules) {
    if (plan.cp > 1) rules.push_back({"cp", "the runtime has no context parallelism yet", "1"});
    if (plan.ep > 1) rules.push_back({"ep", "the runtime has no expert parallelism yet", "1"});
    if (plan.tp_comm_overlap) {
        rules.push_back({"tp_comm_overlap", "the runtime's tensor parallel collectives do not run under their GEMMs",
                         "leave it out"});
    }
    if (plan.offload_optimizer) rules.push_back({"offload_optimizer", "the runtime has one memory", "leave it out"});
}

void check_schedule(const Job& job, std::vector<BrokenRule>& rules) {
    const ScheduleTraits& traits = traits_of(job.plan.schedule);
    if (!job.schedule_file && traits.asynchronous) {
        rules.push_back({"schedule",
                         fmt::format("{} updates weights while older versions are in use, which one rank cannot "
                                     "reproduce; the runtime executes schedules that flush",
                                     traits.id),
                         "1f1b"});
    }
    const bool gathers = shards_parameters(job.plan) && job.plan.dp > 1;
    if (vocabulary_shares(job.plan) > 1 && gathers) {
        rules.push_back({"schedule, data_parallel",
                         fmt::format("{} has lookups between the passes of a rank, for which the plan gathers no "
                                     "sharded parameters",
                                     traits.id),
                         "1f1b, or a distributed optimizer"});
    }
    if (job.stage_times) rules.push_back({"stage_times", "the runtime measures times", "leave them out"});
}

void check_data_parallel(const Job& job, std::vector<BrokenRule>& rules) {
    const ParallelPlan& plan = job.plan;
    if (plan.dp == 1) return;
    const bool known = plan.data_parallel == DataParallelKind::ddp || is_fsdp(plan.data_parallel) ||
                       plan.data_parallel == DataParallelKind::mirrored;
    if (!known) {
        rules.push_back({"data_parallel", fmt::format("the runtime does not execute {}", to_string(plan.data_parallel)),
                         "ddp, mirrored, fsdp1, fsdp2 or hsdp"});
    }
    const bool many = microbatch_count(job) > 1;
    if (plan.sync_every_microbatch && many && !shards_parameters(plan)) {
        rules.push_back({"sync_every_microbatch",
                         "gradients that were reduced after one micro-batch and are added to would be reduced again",
                         "zero 1 or 3, or one micro-batch a replica"});
    }
    if (shards_parameters(plan) && job.model.tied_embeddings && plan.pp > 1) {
        rules.push_back({"data_parallel, tied_embeddings, pp",
                         "a tied embedding lies in the shards of one stage and is used by another, for which it is not "
                         "gathered",
                         "--untie-embeddings-and-output-weights, pp 1, or a distributed optimizer"});
    }
}

}  // namespace

Precision plan_precision(ElementType type) {
    return type == ElementType::bf16 ? Precision::bf16 : Precision::fp32;
}

bool is_own_profile(std::string_view software) {
    return software == "foreshard" || software == "foreshard-flash";
}

std::vector<BrokenRule> unsupported(const Job& job, ElementType type) {
    std::vector<BrokenRule> rules;
    if (!is_own_profile(job.software.id)) {
        rules.push_back({"software", fmt::format("the runtime runs its own kernels, not those of {}", job.software.id),
                         "foreshard, or foreshard-flash"});
    }
    const Precision computed = plan_precision(type);
    if (job.plan.precision != computed) {
        rules.push_back(
            {"precision",
             fmt::format("the runtime computes in {}, not in {}", to_string(computed), to_string(job.plan.precision)),
             fmt::format("{}, or another --dtype", to_string(computed))});
    }
    check_axes(job.plan, rules);
    check_schedule(job, rules);
    check_data_parallel(job, rules);
    return rules;
}

}  // namespace foreshard::runtime
