#include <gtest/gtest.h>

#include "runtime/job_run.hpp"
#include "tests/runtime/check_grid.hpp"

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
    const bool forward = work.pass == Pass::forward || work.pass == Pass::vocab_forward;
    const bool whole = work.pass == Pass::backward || work.pass == Pass::vocab_backward;
    for (int i = 0; i < work.units; ++i) {
        const int unit = forward ? work.first_unit + i : work.first_unit + work.units - 1 - i;
        const OpBlock& block = stage.blocks[static_cast<std::size_t>(units[static_cast<std::size_t>(unit)].block)];
        if (forward) append_names(block.forward, names);
        if (whole || work.pass == Pass::input_grad) append_names(block.input_grad, names);
        if (whole || work.pass == Pass::weight_grad) append_names(block.weight_grad, names);
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

class Ops : public testing::TestWithParam<int> {};

TEST_P(Ops, AreRunAsTheGraphListsThem) {
    const std::vector<GridPoint> points = covering_points(400, 2);
    for (std::size_t i = static_cast<std::size_t>(GetParam()); i < points.size(); i += 4) {
        SCOPED_TRACE(to_string(points[i]));
        const Job found = *job_of(points[i]);
        const Job job = i % 8 < 4 ? found : with_flash_attention(found);
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
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shares, Ops, testing::Range(0, 4));

}  // namespace
}  // namespace foreshard::runtime
