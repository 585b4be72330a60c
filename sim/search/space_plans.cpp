#include <string>

#include "sim/search/space.hpp"
#include "sim/spec/data_parallel.hpp"
#include "sim/spec/resolve_options.hpp"

/// What a plan of a space says, as a request and in a job.
namespace foreshard {

void set_form(const PipelineForm& form, JobRequest& plan) {
    plan.vpp = form.vpp;
    plan.schedule = std::string(to_string(form.schedule));
    plan.layout.reset();
    plan.account_for_embedding_in_pipeline_split.reset();
    plan.account_for_loss_in_pipeline_split.reset();
    if (!form.layout.empty()) plan.layout = form.layout;
    if (form.ends_in_split) plan.account_for_embedding_in_pipeline_split = true;
    if (form.ends_in_split) plan.account_for_loss_in_pipeline_split = true;
}

void set_saving(const Saving& saving, JobRequest& plan) {
    plan.recompute = std::string(to_string(saving.recompute));
    plan.recompute_method.reset();
    plan.recompute_num_layers.reset();
    if (saving.recompute != Recompute::full || saving.whole()) return;
    plan.recompute_method = saving.method == RecomputeMethod::block ? "block" : "uniform";
    plan.recompute_num_layers = saving.layers;
}

void set_sharding(const Sharding& sharding, JobRequest& plan) {
    plan.zero = sharding.zero;
    plan.data_parallel = std::string(to_string(sharding.kind));
    if (sharding.offload_optimizer) plan.offload_optimizer = sharding.offload_optimizer;
    if (sharding.offload_parameters) plan.offload_parameters = sharding.offload_parameters;
    if (sharding.overlap_grad_reduce) plan.overlap_grad_reduce = sharding.overlap_grad_reduce;
    if (sharding.overlap_param_gather) plan.overlap_param_gather = sharding.overlap_param_gather;
}

JobRequest plan_request(const Space& space, const PlanKey& key) {
    const Branch& branch = space.branches[static_cast<std::size_t>(key.branch)];
    const Cell& cell = space.cells[static_cast<std::size_t>(branch.cell)];
    const Grid& grid = cell.grids[static_cast<std::size_t>(key.grid)];
    const Sharding& sharding = space.shardings[static_cast<std::size_t>(key.sharding)];
    JobRequest plan;
    plan.tp = cell.tp;
    plan.cp = cell.cp;
    plan.ep = cell.ep;
    if (cell.etp > 0) plan.etp = cell.etp;
    plan.pp = grid.pp;
    plan.dp = grid.dp;
    plan.mbs = branch.mbs;
    plan.sp = branch.sp.on;
    const Saving& saving = space.savings[static_cast<std::size_t>(key.saving)];
    set_saving(saving, plan);
    if (space.names_offload) plan.offload_activation_layers = saving.offloaded;
    set_sharding(sharding, plan);
    if (space.names_precision) plan.precision = std::string(to_string(cell.precision));
    if (space.names_order) plan.order = space.orders[static_cast<std::size_t>(cell.order)];
    if (space.names_tp_overlap) plan.tp_comm_overlap = branch.sp.overlap;
    set_form(space.forms[static_cast<std::size_t>(key.form)], plan);
    return plan;
}

void set_cell(const Space& space, const Cell& cell, ParallelPlan& plan) {
    plan.tp = cell.tp;
    plan.cp = cell.cp;
    plan.ep = cell.ep;
    plan.etp = cell.etp;
    plan.precision = cell.precision;
    plan.order = space.orders[static_cast<std::size_t>(cell.order)];
}

void set_plan(const Space& space, const PlanKey& key, Job& job) {
    const Branch& branch = space.branches[static_cast<std::size_t>(key.branch)];
    const Cell& cell = space.cells[static_cast<std::size_t>(branch.cell)];
    const Grid& grid = cell.grids[static_cast<std::size_t>(key.grid)];
    ParallelPlan& plan = job.plan;
    set_cell(space, cell, plan);
    plan.pp = grid.pp;
    plan.dp = grid.dp;
    plan.sequence_parallel = branch.sp.on;
    plan.tp_comm_overlap = branch.sp.overlap;
    const Saving& saving = space.savings[static_cast<std::size_t>(key.saving)];
    plan.recompute = saving.recompute;
    plan.recompute_method = saving.method;
    plan.recompute_num_layers = saving.layers;
    plan.offload_activation_layers = saving.offloaded;
    job.micro_batch = branch.mbs;
    if (plan.data_parallel == DataParallelKind::hsdp && !space.base.fsdp_shard_size) {
        plan.fsdp_shard_size = replicas_in_node(job);
    }
    const bool in_node = job.software.structure.zero_group_in_node && !is_fsdp(plan.data_parallel);
    if (in_node && shards_optimizer(plan) && !space.base.zero_shard_size) plan.zero_shard_size = replicas_in_node(job);
}

}  // namespace foreshard
