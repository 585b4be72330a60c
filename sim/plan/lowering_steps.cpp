#include <algorithm>

#include "sim/plan/lowering.hpp"
#include "sim/plan/schedules.hpp"

/// Part of lowering: the steps that a graph covers, and replicas of stages.
namespace foreshard {

void Lowering::settle_steps() {
    graph_.microbatches = schedule_.microbatches;
    graph_.asynchronous = unrolled_.total > 1;
    if (graph_.asynchronous) {
        graph_.microbatches = schedule_.microbatches / unrolled_.total;
        graph_.steps = unrolled_.total;
        graph_.window_step = unrolled_.window;
        return;
    }
    const bool overlapped = sync_ && job_.plan.overlap_param_gather && group_.size > 1;
    graph_.steps = std::max({job_.plan.skew_steps, overlapped ? 3 : 1, 1});
    graph_.window_step = graph_.steps - 1;
    rounds_ = graph_.steps;
}

std::size_t Lowering::place_of(const Action& action) const {
    const int direction = replicated() ? schedule_.direction[static_cast<std::size_t>(action.microbatch)] : 0;
    return static_cast<std::size_t>(direction) * schedule_.stages + action.stage;
}

int Lowering::step_of(int round, const Action& action) const {
    return graph_.asynchronous ? action.microbatch / graph_.microbatches : round;
}

/// Whether the rank's weights are updated after this action of an asynchronous schedule: PipeDream updates after every
/// backward, PipeDream-2BW after the last one of a batch.
bool Lowering::ends_update(const Action& action) const {
    if (!finishes_weights(action.pass)) return false;
    const int period = job_.plan.schedule == ScheduleKind::pipedream ? 1 : graph_.microbatches;
    return (action.microbatch + 1) % period == 0;
}

/// Every stage on two ranks sums its gradients with its replica's (Chimera section 3.1). Both ranks take their stages
/// in the same order.
void Lowering::add_replica_reduces(int rank, int step) {
    if (!replicated()) return;
    std::vector<int> stages = graph_.rank_stages[static_cast<std::size_t>(rank)];
    std::sort(stages.begin(), stages.end());
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    for (const int stage : stages) {
        const std::int32_t id = add_task(TaskKind::grad_reduce, step);
        graph_.tasks[static_cast<std::size_t>(id)].stage = stage;
        mine.replicas[static_cast<std::size_t>(step)].push_back(id);
    }
}

void Lowering::connect_replica(int rank, int step, std::int32_t task, std::size_t place) {
    const RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    if (last_weight_action_[place] >= 0) need(task, end_of(rank, step, last_weight_action_[place]));
    need(mine.optimizer[static_cast<std::size_t>(step)], task);
}

void Lowering::connect_replicas(int step) {
    if (!sync_ || !replicated()) return;
    const auto task_of = [&](int rank, int stage) {
        for (const std::int32_t id :
             rank_tasks_[static_cast<std::size_t>(rank)].replicas[static_cast<std::size_t>(step)]) {
            if (graph_.tasks[static_cast<std::size_t>(id)].stage == stage) return id;
        }
        return std::int32_t{-1};
    };
    for (int stage = 0; stage < schedule_.stages; ++stage) {
        const auto place = static_cast<std::size_t>(stage);
        const std::size_t other = place + static_cast<std::size_t>(schedule_.stages);
        const int a = schedule_.stage_rank[place];
        const int b = schedule_.stage_rank[other];
        const StageOps& ops = graph_.stages[place];
        const double bytes = static_cast<double>(ops.parameters() + ops.expert_parameters()) * gradient_bytes(job_);
        const std::int32_t first = task_of(a, stage);
        const std::int32_t second = task_of(b, stage);
        const std::int32_t members[] = {first, second};
        add_comm(members, comm_class({CollectiveKind::all_reduce, Axis::replica, Bytes(bytes), a, b}));
        connect_replica(a, step, first, place);
        connect_replica(b, step, second, other);
    }
}

TaskGraph lower(const Job& job, const Schedule& schedule, const std::vector<StageBuckets>& buckets) {
    const bool asynchronous = !job.schedule_file && traits_of(job.plan.schedule).asynchronous;
    if (!asynchronous) return Lowering(job, schedule, buckets, {}).run();
    const UnrolledSteps steps = unrolled_steps(schedule.ranks, schedule.microbatches);
    const Schedule unrolled = one_f_one_b_schedule(schedule.ranks, steps.total * schedule.microbatches);
    return Lowering(job, unrolled, buckets, steps).run();
}

}  // namespace foreshard
