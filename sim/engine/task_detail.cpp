#include "sim/engine/task_detail.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/cost/calibrated.hpp"
#include "sim/cost/nccl_network.hpp"
#include "sim/cost/pass_time.hpp"
#include "sim/cost/tp_overlap.hpp"
#include "sim/result/text_format.hpp"

namespace foreshard {

namespace {

/// A figure with the decimal prefix that leaves one to three digits before the point: "0.232 T" is "232 G".
std::string scaled_figure(double value, const char* unit) {
    constexpr const char* prefixes[] = {"", "k", "M", "G", "T", "P"};
    std::size_t step = 0;
    while (std::abs(value) >= 1000.0 && step + 1 < std::size(prefixes)) {
        value /= 1000.0;
        ++step;
    }
    return fmt::format("{:.3g} {}{}", value, prefixes[step], unit);
}

std::string rate(double amount, Seconds time, const char* unit) {
    return time > Seconds(0.0) ? " at " + scaled_figure(amount / time.value, unit) : "";
}

std::string product_formula(const Op& op) {
    const std::string batch = op.batch > 1 ? fmt::format(" x {}", op.batch) : "";
    return fmt::format("{}2 m n k = {}2 x {} x {} x {} = {}", op.batch > 1 ? "b x " : "",
                       op.batch > 1 ? fmt::format("{} x ", op.batch) : "", op.m, op.n, op.k,
                       scaled_figure(op.flops.value, "FLOP"));
}

std::string formula_of(const Job& job, const Op& op, int ranks, Seconds time) {
    switch (op.kind) {
        case OpKind::gemm:
            return product_formula(op) + rate(op.flops.value, time, "FLOP/s");
        case OpKind::attention_matmul:
        case OpKind::flash_attention:
            return fmt::format("{} heads x {} x {} scores, width {}: {}", op.batch, op.m, op.n, op.k,
                               scaled_figure(op.flops.value, "FLOP")) +
                   rate(op.flops.value, time, "FLOP/s");
        case OpKind::memory:
            return fmt::format("reads {}, writes {}", scaled_figure(op.read.value, "B"),
                               scaled_figure(op.written.value, "B")) +
                   rate((op.read + op.written).value, time, "B/s");
        case OpKind::collective:
            break;
    }
    std::string text = fmt::format("{} over {} ranks", scaled_figure(op.message.value, "B"), ranks);
    if (op.behind_previous) text += ", only what outlasts the kernel before it";
    if (job.plan.tp_comm_overlap && op.axis == Axis::tp) text += ", in tiles under its GEMM where there is one";
    return text;
}

std::string name_of(const Op& op) {
    std::string name(op.name);
    std::replace(name.begin(), name.end(), '_', ' ');
    if (op.kind == OpKind::collective) name += fmt::format(" ({} {})", to_string(op.axis), to_string(op.collective));
    return op.recompute ? name + " (again)" : name;
}

/// What a pass is charged for an op, as PassTimer sums it: a kernel's time, or what is exposed of a collective.
struct Charge {
    Seconds time;
    std::string bound;
};

/// Lists what a compute task of given models is charged for.
class PartLister {
public:
    PartLister(const Evaluation& evaluation, const Work& work)
        : job_(evaluation.job),
          graph_(evaluation.graph),
          work_(work),
          cost_(job_),
          network_(job_),
          timer_(job_, cost_, network_),
          tp_(group_placement(job_, Axis::tp)),
          cp_(group_placement(job_, Axis::cp)),
          ep_(group_placement(job_, Axis::ep)) {}

    std::vector<TaskPart> pass();
    std::vector<TaskPart> optimizer();

private:
    void add_block(const OpBlock& block, int repeats);
    void add_ops(const std::vector<Op>& ops, int repeats);
    Charge charge(const std::vector<Op>& ops, std::size_t i, Seconds previous) const;
    const GroupPlacement& group(Axis axis) const { return axis == Axis::tp ? tp_ : axis == Axis::cp ? cp_ : ep_; }
    void add_again(const OpBlock& block, int repeats);
    Seconds host_of(const OpBlock& block) const;

    const Job& job_;
    const TaskGraph& graph_;
    const Work& work_;
    CalibratedCost cost_;
    NcclNetwork network_;
    PassTimer timer_;
    GroupPlacement tp_, cp_, ep_;
    std::vector<TaskPart> parts_;
    Seconds host_;
    Seconds kernels_;  ///< of the block that is added
};

Charge PartLister::charge(const std::vector<Op>& ops, std::size_t i, Seconds previous) const {
    const Op& op = ops[i];
    if (op.kind != OpKind::collective) {
        const OpTime kernel = timer_.kernel(op);
        return {kernel.seconds, std::string(to_string(kernel.bound))};
    }
    const int gemm = job_.plan.tp_comm_overlap ? overlapped_gemm(ops, static_cast<int>(i)) : -1;
    const PassTimer::Exposed comm =
        gemm >= 0 ? timer_.exposed_in_tiles(op, ops[static_cast<std::size_t>(gemm)]) : timer_.exposed(op, previous);
    return {comm.time, network_.collective(op.collective, op.message, group(op.axis)).limit};
}

void PartLister::add_ops(const std::vector<Op>& ops, int repeats) {
    Seconds previous;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const Op& op = ops[i];
        Charge charged = charge(ops, i, previous);
        previous = charged.time;
        if (op.kind != OpKind::collective) kernels_ += charged.time * repeats;
        const int ranks = op.kind == OpKind::collective ? group(op.axis).size : 1;
        parts_.push_back({name_of(op), repeats, charged.time * repeats, formula_of(job_, op, ranks, charged.time),
                          std::move(charged.bound)});
    }
}

/// A fully recomputed layer is rebuilt for I and once more for W.
void PartLister::add_again(const OpBlock& block, int repeats) {
    if (block.working_set <= 0) return;
    std::vector<Op> again;
    for (const Op& op : block.input_grad) {
        if (op.recompute) again.push_back(op);
    }
    add_ops(again, repeats);
}

Seconds PartLister::host_of(const OpBlock& block) const {
    const BlockTimes times = timer_.time(block);
    switch (work_.pass) {
        case Pass::forward:
        case Pass::vocab_forward:
            return times.forward.host;
        case Pass::backward:
        case Pass::vocab_backward:
            return times.backward.host;
        case Pass::input_grad:
            return times.input_grad.host;
        case Pass::weight_grad:
            return times.weight_grad.host;
    }
    return Seconds(0.0);
}

void PartLister::add_block(const OpBlock& block, int repeats) {
    kernels_ = Seconds(0.0);
    switch (work_.pass) {
        case Pass::forward:
        case Pass::vocab_forward:
            add_ops(block.forward, repeats);
            break;
        case Pass::backward:
        case Pass::vocab_backward:
            add_ops(block.input_grad, repeats);
            add_ops(block.weight_grad, repeats);
            break;
        case Pass::input_grad:
            add_ops(block.input_grad, repeats);
            break;
        case Pass::weight_grad:
            add_ops(block.weight_grad, repeats);
            add_again(block, repeats);
            break;
    }
    if (const double ratio = timer_.slowdown(block); ratio > 0.0) {
        parts_.push_back({"beside collectives of the vocabulary", repeats, kernels_ * ratio,
                          fmt::format("{:.1f} % of the kernels, which share the device with them", 100.0 * ratio),
                          "memory"});
    }
    host_ += host_of(block) * repeats;
}

std::vector<TaskPart> PartLister::pass() {
    int begin = 0;
    for (const OpBlock& block : graph_.stages[static_cast<std::size_t>(work_.stage)].blocks) {
        const int end = begin + block.repeat;
        const int inside = std::min(end, work_.first_unit + work_.units) - std::max(begin, work_.first_unit);
        if (inside > 0) add_block(block, inside);
        begin = end;
    }
    const bool of_stage = work_.pass != Pass::vocab_forward && work_.pass != Pass::vocab_backward;
    if (of_stage && work_.first_unit == 0) host_ += pass_overhead(job_);
    if (host_ > Seconds(0.0)) {
        parts_.push_back(
            {"host", 1, host_, "launches and Python that outlast the kernels, overhead of a pass", "host"});
    }
    return std::move(parts_);
}

std::vector<TaskPart> PartLister::optimizer() {
    const double parameters = optimizer_parameters(job_, graph_, work_.stage);
    if (job_.plan.offload_optimizer) return {};
    const double each = job_.software.numbers.optimizer_bytes_per_parameter;
    const OpTime time = cost_.optimizer(parameters, Bytes(each * parameters));
    return {{"update", 1, time.seconds,
             fmt::format("{:.3g} B x {} = {}", each, scaled_figure(parameters, "parameters"),
                         scaled_figure(each * parameters, "B")) +
                 rate(each * parameters, time.seconds, "B/s"),
             std::string(to_string(time.bound))}};
}

Seconds spent(const WorkDuration& work, Spent what) {
    return to_seconds(work.spent[static_cast<std::size_t>(what)]);
}

void append_spent(const WorkDuration& work, std::vector<TaskPart>& parts) {
    if (const Seconds beside = spent(work, Spent::exposed_dp); beside > Seconds(0.0)) {
        parts.push_back({"beside data-parallel communication", 1, beside,
                         "what compute loses while gathers and reductions run beside it", "memory"});
    }
    if (const Seconds offload = spent(work, Spent::offload); offload > Seconds(0.0)) {
        parts.push_back({"offloaded update", 1, offload, "gradients to the host, Adam there, weights back", "host"});
    }
}

std::vector<TaskPart> compute_parts(const Evaluation& evaluation, const Work& work, const WorkDuration& duration) {
    if (evaluation.job.stage_times) {
        return {{"pass", 1, to_seconds(duration.total()), "given by --stage-times", "given"}};
    }
    std::vector<TaskPart> parts;
    if (work.kind == TaskKind::pass) {
        parts = PartLister(evaluation, work).pass();
    } else if (work.kind == TaskKind::optimizer) {
        parts = PartLister(evaluation, work).optimizer();
    } else {
        parts.push_back({"step end", 1, spent(duration, Spent::host), "the framework's fixed work per step", "host"});
    }
    append_spent(duration, parts);
    return parts;
}

TaskPart comm_part(const Evaluation& evaluation, std::int32_t comm_class) {
    const auto index = static_cast<std::size_t>(comm_class);
    const CommClass& comm = evaluation.graph.comm_classes[index];
    const CommDuration& time = evaluation.durations.comms[index];
    const Seconds total = to_seconds(time.busy + time.latency);
    const std::string& limit = evaluation.durations.limits[index];
    const bool message = comm.kind == CollectiveKind::send_recv && comm.axis != Axis::host;
    const bool pair = message || comm.axis == Axis::embedding || comm.axis == Axis::replica;
    const int size = pair ? 2 : group_placement(evaluation.job, comm.axis).size;
    std::string formula = scaled_figure(comm.message.value, "B");
    if (size > 1 && !message) formula += fmt::format(" over {} ranks", size);
    formula += rate(comm.message.value, total, "B/s");
    formula += fmt::format("; busy {}, latency {}", milliseconds(to_milliseconds(time.busy)),
                           milliseconds(to_milliseconds(time.latency)));
    if (comm.every > 1) formula += fmt::format("; sent once in {} steps, a step bears its share", comm.every);
    return {fmt::format("{} {}", to_string(comm.axis), to_string(comm.kind)), 1, total, std::move(formula),
            limit.empty() ? "nothing: a group of one" : limit};
}

void add_notes(const Evaluation& evaluation, TaskDetail& detail) {
    const Seconds ran = to_seconds(detail.end - detail.start);
    const double difference = (ran - detail.predicted).value;
    if (std::abs(difference) * 1e12 < 2.0) return;
    const bool shares = evaluation.job.plan.contention != Contention::off;
    detail.notes.push_back(fmt::format(
        "took {} instead of {}: {}", milliseconds(ran.value * 1e3), milliseconds(detail.predicted.value * 1e3),
        shares ? "links, SMs or memory bandwidth are shared" : "speed factors, jitter, or a wait for the partner"));
}

}  // namespace

TaskDetail task_detail(const Evaluation& evaluation, std::int32_t id) {
    const auto index = static_cast<std::size_t>(id);
    const Task& task = evaluation.graph.tasks[index];
    TaskDetail detail;
    detail.name = task_name(evaluation.graph, id);
    detail.start = evaluation.timeline.start[index];
    detail.end = evaluation.timeline.end[index];
    if (task.work >= 0) {
        const auto work = static_cast<std::size_t>(task.work);
        const WorkDuration& duration = evaluation.durations.works[work];
        detail.parts = compute_parts(evaluation, evaluation.graph.works[work], duration);
        detail.predicted = to_seconds(duration.total());
    } else {
        const Comm& comm = evaluation.graph.comms[static_cast<std::size_t>(task.comm)];
        detail.parts = {comm_part(evaluation, comm.comm_class)};
        detail.predicted = detail.parts.front().time;
    }
    add_notes(evaluation, detail);
    return detail;
}

}  // namespace foreshard
