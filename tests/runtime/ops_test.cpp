#include <gtest/gtest.h>

#include "runtime/job_run.hpp"
#include "runtime/op_measure.hpp"
#include "tests/runtime/check_grid.hpp"
#include "tests/support/jobs.hpp"

/// The second half of the promise: inside every pass, the ops of the graph in its order.
namespace foreshard::runtime {
namespace {

void append_names(const std::vector<Op>& ops, std::vector<std::string>& names) {
    for (const Op& op : ops) names.emplace_back(op.name);
}

/// Of one pass, or a part of one: units in order, backward from the last to the first, input gradients before weights'.
void append_pass(const TaskGraph& graph, const Work& work, std::vector<std::string>& names) {
    const StageOps& stage = graph.stages[static_cast<std::size_t>(work.stage)];
    const std::vector<Unit> units = stage_units(stage);
    for (int i = 0; i < work.units; ++i) {
        const int unit = work.pass == Pass::forward ? work.first_unit + i : work.first_unit + work.units - 1 - i;
        const OpBlock& block = stage.blocks[static_cast<std::size_t>(units[static_cast<std::size_t>(unit)].block)];
        if (work.pass == Pass::forward) append_names(block.forward, names);
        if (work.pass == Pass::backward || work.pass == Pass::input_grad) append_names(block.input_grad, names);
        if (work.pass == Pass::backward || work.pass == Pass::weight_grad) append_names(block.weight_grad, names);
    }
}

std::vector<std::string> ops_of(const TaskGraph& graph, int simulated_rank) {
    std::vector<std::string> names;
    for (const Stream& stream : graph.streams) {
        if (stream.rank != simulated_rank || stream.lane != Lane::compute) continue;
        for (std::int32_t id = stream.first; id < stream.last; ++id) {
            const Task& task = graph.tasks[static_cast<std::size_t>(id)];
            if (task.kind == TaskKind::pass)
                append_pass(graph, graph.works[static_cast<std::size_t>(task.work)], names);
        }
    }
    return names;
}

/// Names of the ops whose times a rank recorded, with the update of the optimizer.
std::vector<std::string> recorded_ops(const TaskGraph& graph, const RankRecord& rank) {
    const OpIndex index(graph);
    std::vector<std::string> names;
    for (const OpSpan& span : rank.runs.front().ops.ops) {
        if (span.op == index.update()) {
            names.emplace_back("optimizer");
        } else {
            names.emplace_back(span.op == index.zeroing() ? "zero_gradients" : std::string(index.op(span.op).name));
        }
    }
    return names;
}

/// Ops lie one after another, each with its call inside it, and inside the rank's tasks.
void expect_order(const RankRecord& rank) {
    const OpSpans& spans = rank.runs.front().ops;
    Clock::time_point last = rank.runs.front().start;
    for (const OpSpan& span : spans.ops) {
        EXPECT_GE(span.start, last);
        EXPECT_GE(span.end, span.start);
        last = span.end;
        if (span.call < 0) continue;
        const CallSpan& call = spans.calls.at(static_cast<std::size_t>(span.call));
        EXPECT_LE(span.start, call.issued);
        EXPECT_LE(call.issued, call.met);
        EXPECT_LE(call.met, call.end);
        EXPECT_LE(call.end, span.end);
    }
    EXPECT_LE(last, rank.runs.front().end);
}

class Ops : public testing::TestWithParam<int> {};

TEST_P(Ops, AreRunAsTheGraphListsThem) {
    const std::vector<GridPoint> points = covering_points(400, 2);
    for (std::size_t i = static_cast<std::size_t>(GetParam()); i < points.size(); i += 4) {
        SCOPED_TRACE(to_string(points[i]));
        const Job job = *job_of(points[i]);
        const Schedule schedule = make_schedule(job);
        const TaskGraph graph = lower(job, schedule);
        const Ranks ranks(job);
        std::vector<std::vector<std::string>> logs(static_cast<std::size_t>(ranks.count()));
        JobOptions options;
        options.train.op_logs = &logs;
        const Outcome outcome = run_as_threads({job, schedule, graph, ranks}, options, {[](const RunRecord&) {}});
        ASSERT_FALSE(outcome.failure) << outcome.failure->reason;
        for (int rank = 0; rank < ranks.count(); ++rank) {
            const std::vector<std::string> expected = ops_of(graph, ranks.position(rank).pp);
            EXPECT_FALSE(expected.empty());
            EXPECT_EQ(logs[static_cast<std::size_t>(rank)], expected) << rank;
            const RankRecord& record = outcome.ranks[static_cast<std::size_t>(rank)];
            std::vector<std::string> timed = recorded_ops(graph, record);
            EXPECT_EQ(timed.size(), ops_per_run(graph, ranks.position(rank).pp));
            EXPECT_EQ(std::erase(timed, "optimizer"), graph.steps);
            EXPECT_EQ(std::erase(timed, "zero_gradients"), graph.steps);
            EXPECT_EQ(timed, expected) << rank;
            expect_order(record);
        }
    }
}

/// Every op of the graph once for each of its calls, and no pass shorter than the ops inside it.
TEST(OpMeasurement, CountsTheCallsOfEveryRankAndStep) {
    JobRequest request = foreshard::test::tiny_request(2, 4);
    request.tp = 2;
    request.dp = 2;
    request.gpus = 8;
    request.software = "foreshard";
    const Job job = foreshard::test::valid_job(request);
    const Schedule schedule = make_schedule(job);
    const TaskGraph graph = lower(job, schedule);
    const Ranks ranks(job);
    const Plan plan{job, schedule, graph, ranks};
    JobOptions options;
    options.train.steps = 3;
    options.train.warmup = 1;
    options.train.alternate = true;  // so that two of the three are recorded
    const Outcome outcome = run_as_threads(plan, options, {[](const RunRecord&) {}});
    ASSERT_FALSE(outcome.failure) << outcome.failure->reason;
    const OpMeasurement measured = measure_ops(plan, outcome);
    EXPECT_EQ(measured.steps, 2);
    std::size_t expected = 0;
    for (int rank = 0; rank < ranks.count(); ++rank) expected += 2 * ops_per_run(graph, ranks.position(rank).pp);
    std::size_t calls = 0;
    int updates = 0;
    for (const OpMeasure& op : measured.ops) {
        calls += static_cast<std::size_t>(op.time.count);
        EXPECT_LE(op.alone.count + op.beside.count, op.time.count) << op.op;
        EXPECT_LE(op.others_computing, ranks.count() - 1.0) << op.op;
        EXPECT_EQ(op.communicates, op.op.starts_with("tp_")) << op.op;
        if (op.pass == "optimizer") updates += op.time.count;
    }
    EXPECT_EQ(calls, expected);
    EXPECT_EQ(updates, 2 * 2 * ranks.count()) << "and as many times gradients are set to zero";
    EXPECT_GE(measured.overheads.pass.min_ms, 0.0);
    EXPECT_GE(measured.overheads.task.min_ms, 0.0);
    EXPECT_GE(measured.overheads.wakeup.min_ms, 0.0);
    EXPECT_EQ(measured.overheads.start.count, 2 * ranks.count());
    const auto in_pass = [](const CommMeasure& comm) { return comm.in_pass; };
    EXPECT_EQ(std::count_if(measured.communication.begin(), measured.communication.end(), in_pass), 2)
        << "activations, and sums of the loss";
    for (const CommMeasure& comm : measured.communication) EXPECT_EQ(comm.ranks, 2);
}

INSTANTIATE_TEST_SUITE_P(Shares, Ops, testing::Range(0, 4));

}  // namespace
}  // namespace foreshard::runtime
