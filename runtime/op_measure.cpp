#include "runtime/op_measure.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/meeting.hpp"

namespace foreshard::runtime {

namespace {

double ms(Clock::duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

/// Compute of a rank in one run: intervals in order, and the time before each.
class ComputeTime {
public:
    void add(Clock::time_point start, Clock::time_point end) {
        starts_.push_back(start);
        ends_.push_back(end);
        before_.push_back(before_.empty() ? Clock::duration{} : before_.back() + last_);
        last_ = end - start;
    }
    /// Until a time.
    Clock::duration until(Clock::time_point time) const {
        const auto behind = std::upper_bound(starts_.begin(), starts_.end(), time);
        if (behind == starts_.begin()) return {};
        const auto i = static_cast<std::size_t>(behind - starts_.begin()) - 1;
        return before_[i] + (std::min(time, ends_[i]) - starts_[i]);
    }

private:
    std::vector<Clock::time_point> starts_;
    std::vector<Clock::time_point> ends_;
    std::vector<Clock::duration> before_;
    Clock::duration last_{};
};

ComputeTime compute_time(const OpSpans& spans) {
    ComputeTime time;
    for (const OpSpan& span : spans.ops) {
        if (span.call < 0) time.add(span.start, span.end);
    }
    return time;
}

/// Times of equal calls.
class Samples {
public:
    /// @param middle of a run that counts for the mean
    void add(double time_ms, bool middle) {
        times_.push_back(time_ms);
        if (middle) middle_.push_back(time_ms);
    }
    /// Its mean is over the middle runs, the same for all kinds of calls: so their sums are what such a run takes. A
    /// median of each kind would leave out what disturbs one of them in every run.
    Spread spread() const {
        Spread spread = spread_of(times_);
        if (!middle_.empty()) spread.mean_ms = spread_of(middle_).mean_ms;
        return spread;
    }
    std::size_t size() const { return times_.size(); }

private:
    std::vector<double> times_;
    std::vector<double> middle_;
};

struct OpTimes {
    Samples all;
    Samples alone;
    Samples beside;
    double others = 0.0;
};

struct CommTimes {
    Samples transfer;
    Samples waiting;

    void add(Clock::time_point issued, Clock::time_point met, Clock::time_point end, bool middle) {
        transfer.add(ms(end - met), middle);
        waiting.add(ms(met - issued), middle);
    }
};

using OpKey = std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t, double,
                         double, std::int64_t, bool>;
using CommKey = std::tuple<Axis, CollectiveKind, int, double, bool>;

std::string pass_of(const Op& op, Pass pass) {
    if (op.recompute) return "recompute";
    if (pass == Pass::forward) return "forward";
    return pass == Pass::input_grad ? "input_grad" : "weight_grad";
}

/// Collects what all ranks recorded.
class Collector {
public:
    Collector(const Plan& plan, const Outcome& outcome) : plan_(plan), outcome_(outcome), index_(plan.graph) {}

    OpMeasurement collect();

private:
    OpKey key_of(const RankRecord& rank, const OpSpan& span) const;
    void add_ops(std::size_t rank, const OpSpans& spans);
    OpMeasurement result(int steps) const;
    void add_op(const RankRecord& rank, const OpSpans& spans, const OpSpan& span, double others);
    double others_in_op(std::size_t rank, const OpSpan& span) const;
    void add_tasks(const RankRecord& rank, const RunRecord& run);
    void add_task(const RankRecord& rank, const RunRecord& run, std::int32_t id);
    void add_pass(const RunRecord& run, const TaskSpan& span, std::size_t& next);
    Clock::time_point last_dep(const RunRecord& run, std::int32_t id, bool own_stream) const;
    const TaskSpan& span_of(const RunRecord& run, std::int32_t id) const {
        return run.spans.spans[static_cast<std::size_t>(id - run.spans.first_task)];
    }

    const Plan& plan_;
    const Outcome& outcome_;
    OpIndex index_;
    std::vector<ComputeTime> computes_;  ///< of the run at hand, by rank
    bool middle_ = false;                ///< the run at hand counts for means
    std::map<OpKey, OpTimes> ops_;
    std::map<CommKey, CommTimes> comms_;
    Samples pass_, task_, wakeup_, start_, end_;
};

OpKey Collector::key_of(const RankRecord& rank, const OpSpan& span) const {
    if (span.op >= index_.update()) {
        const char* name = span.op == index_.update() ? "optimizer" : "zero_gradients";
        return {name, "optimizer", 0, 0, 0, 1, 0.0, 0.0, rank.updated_elements, false};
    }
    const Op& op = index_.op(span.op);
    const double bytes = op.read.value + op.written.value;
    return {
        std::string(op.name), pass_of(op, index_.pass(span.op)), op.m, op.n, op.k, op.batch, op.flops.value, bytes, 0,
        span.call >= 0};
}

/// How many, mean over the op's time.
double Collector::others_in_op(std::size_t rank, const OpSpan& span) const {
    Clock::duration together{};
    for (std::size_t other = 0; other < computes_.size(); ++other) {
        if (other != rank) together += computes_[other].until(span.end) - computes_[other].until(span.start);
    }
    return span.end > span.start ? ms(together) / ms(span.end - span.start) : 0.0;
}

void Collector::add_op(const RankRecord& rank, const OpSpans& spans, const OpSpan& span, double others) {
    double time = ms(span.end - span.start);
    if (span.call >= 0) {
        const CallSpan& call = spans.calls[static_cast<std::size_t>(span.call)];
        time -= ms(call.end - call.issued);
        const Op& op = index_.op(span.op);
        comms_[{op.axis, op.collective, plan_.job.plan.tp, op.message.value, true}].add(call.issued, call.met, call.end,
                                                                                        middle_);
    }
    OpTimes& times = ops_[key_of(rank, span)];
    times.all.add(time, middle_);
    times.others += others;
    if (others < 0.1) times.alone.add(time, middle_);
    if (others >= 0.9) times.beside.add(time, middle_);
}

void Collector::add_ops(std::size_t rank, const OpSpans& spans) {
    for (const OpSpan& span : spans.ops) add_op(outcome_.ranks[rank], spans, span, others_in_op(rank, span));
}

/// Of the tasks that `id` waits for on its own or on other streams; the epoch where there are none.
Clock::time_point Collector::last_dep(const RunRecord& run, std::int32_t id, bool own_stream) const {
    const Task& task = plan_.graph.tasks[static_cast<std::size_t>(id)];
    Clock::time_point last{};
    for (std::uint32_t d = task.first_dep; d < task.first_dep + task.deps; ++d) {
        const std::int32_t dep = plan_.graph.deps[d];
        const bool own = plan_.graph.tasks[static_cast<std::size_t>(dep)].stream == task.stream;
        if (own == own_stream) last = std::max(last, span_of(run, dep).end);
    }
    const bool follows = id > plan_.graph.streams[static_cast<std::size_t>(task.stream)].first;
    if (own_stream && follows) last = std::max(last, span_of(run, id - 1).end);
    return last;
}

void Collector::add_pass(const RunRecord& run, const TaskSpan& span, std::size_t& next) {
    const std::vector<OpSpan>& ops = run.ops.ops;
    Clock::duration inside{};
    for (; next < ops.size() && ops[next].end <= span.end; ++next) {
        if (ops[next].start >= span.start) inside += ops[next].end - ops[next].start;
    }
    pass_.add(ms(span.end - span.start - inside), middle_);
}

void Collector::add_task(const RankRecord& rank, const RunRecord& run, std::int32_t id) {
    const TaskSpan& span = span_of(run, id);
    const Task& task = plan_.graph.tasks[static_cast<std::size_t>(id)];
    if (task.comm >= 0) {
        const Meeting meeting = meeting_of(plan_.graph, plan_.ranks, rank.rank, id);
        const Comm& comm = plan_.graph.comms[static_cast<std::size_t>(task.comm)];
        const CommClass& kind = plan_.graph.comm_classes[static_cast<std::size_t>(comm.comm_class)];
        comms_[{kind.axis, kind.kind, static_cast<int>(meeting.group.size()), kind.message.value, false}].add(
            span.issued, span.start, span.end, middle_);
    }
    const Clock::time_point own = last_dep(run, id, true);
    const Clock::time_point other = last_dep(run, id, false);
    if (own == Clock::time_point{} && other == Clock::time_point{}) return;
    (own >= other ? task_ : wakeup_).add(ms(span.issued - std::max(own, other)), middle_);
}

void Collector::add_tasks(const RankRecord& rank, const RunRecord& run) {
    if (run.spans.spans.empty()) return;
    const TaskRange range = tasks_of(plan_.graph, plan_.ranks.position(rank.rank).pp);
    Clock::time_point first = run.end;
    Clock::time_point last = run.start;
    std::size_t next = 0;
    for (std::int32_t id = range.first; id < range.last; ++id) {
        const TaskSpan& span = span_of(run, id);
        add_task(rank, run, id);
        const TaskKind kind = plan_.graph.tasks[static_cast<std::size_t>(id)].kind;
        if (!run.ops.ops.empty() && kind == TaskKind::pass) add_pass(run, span, next);
        first = std::min(first, span.issued);
        last = std::max(last, span.end);
    }
    start_.add(ms(first - run.start), middle_);
    end_.add(ms(run.end - last), middle_);
}

OpMeasurement Collector::collect() {
    const std::vector<RunRecord>& runs = outcome_.ranks.front().runs;
    const std::vector<bool> middle = middle_runs(outcome_);
    int steps = 0;
    for (std::size_t run = 0; run < runs.size(); ++run) {
        if (runs[run].warmup) continue;
        if (!runs[run].ops.ops.empty()) steps += plan_.graph.steps;
        middle_ = middle[run];
        computes_.clear();
        for (const RankRecord& rank : outcome_.ranks) computes_.push_back(compute_time(rank.runs[run].ops));
        for (std::size_t r = 0; r < outcome_.ranks.size(); ++r) {
            add_tasks(outcome_.ranks[r], outcome_.ranks[r].runs[run]);
            add_ops(r, outcome_.ranks[r].runs[run].ops);
        }
    }
    return result(steps);
}

OpMeasurement Collector::result(int steps) const {
    OpMeasurement result;
    result.steps = steps;
    for (const auto& [key, times] : ops_) {
        OpMeasure op;
        std::tie(op.op, op.pass, op.m, op.n, op.k, op.batch, op.flops, op.bytes, op.elements, op.communicates) = key;
        op.others_computing = times.others / static_cast<double>(times.all.size());
        op.time = times.all.spread();
        op.alone = times.alone.spread();
        op.beside = times.beside.spread();
        result.ops.push_back(std::move(op));
    }
    for (const auto& [key, times] : comms_) {
        CommMeasure comm;
        std::tie(comm.axis, comm.kind, comm.ranks, comm.message_bytes, comm.in_pass) = key;
        comm.transfer = times.transfer.spread();
        comm.waiting = times.waiting.spread();
        result.communication.push_back(comm);
    }
    result.overheads = {pass_.spread(), task_.spread(), wakeup_.spread(), start_.spread(), end_.spread()};
    result.leads = rank_leads(plan_, outcome_);
    return result;
}

}  // namespace

OpMeasurement measure_ops(const Plan& plan, const Outcome& outcome) {
    return Collector(plan, outcome).collect();
}

}  // namespace foreshard::runtime
