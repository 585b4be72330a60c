#include "runtime/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "runtime/comm/message_groups.hpp"
#include "runtime/cpu/cpu_device.hpp"
#include "runtime/exchange.hpp"
#include "sim/spec/data_parallel.hpp"

namespace foreshard::runtime {

namespace {

/// 24 MB of a rank. Later runs have the times of their tasks only.
constexpr std::size_t most_op_spans = std::size_t{1} << 20;

ModelOptions model_options(const Plan& plan, const TrainOptions& options, int rank) {
    ModelOptions model = options.model;
    const auto place = static_cast<std::size_t>(rank);
    if (options.op_logs != nullptr) model.op_log = &options.op_logs->at(place);
    if (options.memory_logs != nullptr) model.memory_log = &options.memory_logs->at(place);
    const Axis axis = inner_group_size(plan.job.plan) == plan.job.plan.dp ? Axis::dp : Axis::dp_shard;
    const std::vector<int> group = plan.ranks.group(rank, axis);
    const auto member = static_cast<int>(std::find(group.begin(), group.end(), rank) - group.begin());
    model.owned =
        owned_ranges(plan.job, plan.graph, plan.ranks.position(rank).pp, static_cast<int>(group.size()), member);
    return model;
}

}  // namespace

std::unique_ptr<Device> make_device(const TrainOptions& options, const Plan& plan, int rank) {
    return options.device ? options.device(plan, rank) : make_cpu_device(options.type);
}

RankTrainer::RankTrainer(const Plan& plan, const TrainOptions& options, Device& device, Transport& transport,
                         WaitingRoom& room)
    : plan_(plan),
      options_(options),
      device_(device),
      transport_(transport),
      room_(room),
      model_(plan.job, plan.graph, transport.rank(), device, transport, model_options(plan, options, transport.rank())),
      tasks_(plan.job, plan.graph, plan.ranks, model_, transport),
      everyone_(all_ranks(transport)) {
    if (device.runs_behind() || options.issuing == Issuing::one_thread) {
        const std::vector<std::int32_t> order = issue_order(plan.graph);
        issues_ = issue_list(plan.graph, plan.ranks.position(transport.rank()).pp, order);
        group_messages(*issues_, message_groups(plan.graph, order));
    }
    const int steps = plan.graph.steps;
    runs_ = (options.warmup + options.steps + steps - 1) / steps;
    if (!options.fault || options.fault->giver.rank != transport.rank()) return;
    if (options.fault->kind == Fault::Kind::message) tasks_.spoil(options.fault->giver.task);
    if (options.fault->kind == Fault::Kind::size) tasks_.shorten(options.fault->giver.task);
}

void RankTrainer::run(RankRecord& record, const Progress& progress) {
    record.rank = transport_.rank();
    for (run_ = 0; run_ < runs_; ++run_) {
        record.runs.push_back(run_once(run_));
        record.high_water = model_.memory().meter().high_water();
        record.pool = model_.memory().use();
        record.updated_elements = model_.updated_elements();
        progress(record.runs.back());
    }
}

RunRecord RankTrainer::run_once(int run) {
    RunRecord record;
    const int first_step = run * plan_.graph.steps;
    record.warmup = first_step < options_.warmup;
    if (!record.warmup) ++measured_;
    const bool plain = options_.alternate && measured_ > 0 && measured_ % 2 == 0;
    tasks_.begin_run(first_step);
    if (!plain && !record.warmup) begin_ops(record);
    transport_.barrier(control_channel, everyone_);
    record.start = Clock::now();
    record.spans = run_graph(plain ? Recording::off : Recording::on);
    record.end = Clock::now();
    model_.record_ops(nullptr);
    record.losses = sum_losses(model_.losses());
    return record;
}

/// Room for all ops is made before the run.
void RankTrainer::begin_ops(RunRecord& record) {
    if (device_.runs_behind()) return;
    const std::size_t ops = ops_per_run(plan_.graph, plan_.ranks.position(transport_.rank()).pp);
    if (op_count_ + ops > most_op_spans) return;
    op_count_ += ops;
    record.ops.ops.reserve(ops);
    record.ops.calls.reserve(plan_.job.plan.tp > 1 ? ops : 0);
    model_.record_ops(&record.ops);
}

RankSpans RankTrainer::run_graph(Recording recording) {
    const int rank = transport_.rank();
    const Perform perform_task = [this](std::int32_t task) { return perform(task); };
    if (issues_) {
        const GroupCalls group{[this] { tasks_.begin_group(); }, [this] { tasks_.end_group(); },
                               [this](std::int32_t task) { tasks_.finish(task); }};
        RankSpans spans = launch(plan_.graph, *issues_, rank, room_, device_, perform_task, recording, group);
        model_.memory().settle(issues_->queues);
        return spans;
    }
    return execute(plan_.graph, plan_.ranks.position(rank).pp, rank, room_, perform_task, recording);
}

std::optional<Met> RankTrainer::perform(std::int32_t task) {
    const bool mine = options_.fault && options_.fault->giver.rank == transport_.rank();
    if (mine && run_ + 1 == runs_ && options_.fault->giver.task == task) break_down();
    return tasks_.perform(task);
}

void RankTrainer::break_down() {
    switch (options_.fault->kind) {
        case Fault::Kind::message:
        case Fault::Kind::size:
            return;
        case Fault::Kind::memory:
            throw OutOfMemory(std::size_t{1} << 50);
        case Fault::Kind::kill:
            std::raise(SIGKILL);
            return;
        case Fault::Kind::stop:
            std::raise(SIGSTOP);
            return;
    }
}

std::vector<double> RankTrainer::sum_losses(std::vector<double> mine) {
    transport_.all_reduce(control_channel, everyone_, {std::as_writable_bytes(std::span(mine)), ElementType::fp64},
                          Reduction::sum);
    return mine;
}

RankModel& RankTrainer::whole_model() {
    tasks_.make_whole();
    return model_;
}

}  // namespace foreshard::runtime
