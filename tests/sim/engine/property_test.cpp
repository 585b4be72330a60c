#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include <gtest/gtest.h>

#include "sim/engine/simulator.hpp"
#include "sim/json_report.hpp"
#include "tests/support/jobs.hpp"

/// Properties over seeded random jobs.
namespace foreshard {
namespace {

class RandomJob : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomJob, testing::Range(std::uint64_t{1}, std::uint64_t{121}));

TEST_P(RandomJob, EveryAccountSumsToTheStep) {
    const Evaluation e = evaluate(test::random_job(GetParam()));
    for (const RankReport& rank : e.report.ranks) {
        const Picoseconds total = std::accumulate(rank.account.begin(), rank.account.end(), Picoseconds{0});
        EXPECT_EQ(total, e.timeline.step_time()) << "rank " << rank.pp_rank;
        for (const Picoseconds part : rank.account) EXPECT_GE(part, 0);
    }
}

TEST_P(RandomJob, LiveMemoryReturnsToItsStart) {
    const Evaluation e = evaluate(test::random_job(GetParam()));
    for (const RankReport& rank : e.report.ranks) {
        ASSERT_FALSE(rank.memory.points.empty());
        EXPECT_EQ(rank.memory.points.front().activations, 0);
        EXPECT_EQ(rank.memory.points.back().activations, 0);
        EXPECT_EQ(rank.memory.points.back().buffers, e.buffers.workspace_bytes());
        for (const MemoryPoint& point : rank.memory.points) EXPECT_GE(point.activations, 0);
    }
}

TEST_P(RandomJob, PartsOfThePeakSumToIt) {
    const Evaluation e = evaluate(test::random_job(GetParam()));
    for (const RankReport& rank : e.report.ranks) {
        const RankMemory& m = rank.memory;
        EXPECT_EQ(m.states.total() + m.activations + m.buffers, m.peak);
        ByteCount live = 0;
        for (const LiveSet& set : m.live) live += set.bytes;
        // At the end of the pass that set the peak its own saved tensors may be gone already.
        EXPECT_LE(live, m.activations + m.buffers);
        EXPECT_GE(m.reserved, m.peak);
    }
}

TEST_P(RandomJob, TwoRunsAreByteIdentical) {
    const Job job = test::random_job(GetParam());
    EXPECT_EQ(report_json(evaluate(job), {}), report_json(evaluate(job), {}));
}

TEST_P(RandomJob, NothingOverlapsOnAStreamAndNothingStartsEarly) {
    const Evaluation e = evaluate(test::random_job(GetParam()));
    for (const Stream& stream : e.graph.streams) {
        for (std::int32_t id = stream.first; id < stream.last; ++id) {
            const auto i = static_cast<std::size_t>(id);
            const Task& task = e.graph.tasks[i];
            ASSERT_LE(e.timeline.start[i], e.timeline.end[i]);
            if (stream.lane == Lane::compute && id > stream.first) {
                ASSERT_GE(e.timeline.start[i], e.timeline.end[i - 1]);
            }
            for (std::uint32_t d = 0; d < task.deps; ++d) {
                const std::int32_t dep = e.graph.deps[task.first_dep + d];
                ASSERT_GE(e.timeline.start[i], e.timeline.end[static_cast<std::size_t>(dep)]);
                ASSERT_EQ(e.graph.rank_of(dep), stream.rank) << "edges never cross ranks";
            }
        }
    }
}

TEST_P(RandomJob, EveryMicroBatchRunsOnEveryStageOncePerStep) {
    const Evaluation e = evaluate(test::random_job(GetParam()));
    // Gradient units per (step, stage, micro-batch): a pass that is cut for buckets counts by its layers.
    std::map<std::tuple<int, int, int, int>, int> units;
    for (const Task& task : e.graph.tasks) {
        if (task.kind != TaskKind::pass) continue;
        const Work& work = e.graph.works[static_cast<std::size_t>(task.work)];
        units[{task.step, task.stage, task.microbatch, static_cast<int>(task.pass)}] += work.units;
    }
    const std::size_t passes = 2;  // these schedules use F and B
    EXPECT_EQ(units.size(), passes * static_cast<std::size_t>(e.graph.steps) * e.graph.stages.size() *
                                static_cast<std::size_t>(e.graph.microbatches));
    for (const auto& [key, count] : units) {
        const StageOps& stage = e.graph.stages[static_cast<std::size_t>(std::get<1>(key))];
        EXPECT_EQ(count, static_cast<int>(stage_units(stage).size()));
    }
}

TEST_P(RandomJob, AnIntegerFactorOnAllTimesScalesTheStep) {
    const Evaluation e = evaluate(test::random_job(GetParam()));
    Durations scaled = e.durations;
    for (WorkDuration& work : scaled.works) {
        for (Picoseconds& part : work.spent) part *= 7;
    }
    for (CommDuration& comm : scaled.comms) comm = {7 * comm.busy, 7 * comm.latency};
    EXPECT_EQ(simulate(e.graph, scaled).step_time(), 7 * e.timeline.step_time());
}

TEST_P(RandomJob, StepIsAtLeastTheCriticalPathAndTheBusiestRank) {
    const Evaluation e = evaluate(test::random_job(GetParam()));
    for (const RankReport& rank : e.report.ranks) EXPECT_GE(e.timeline.step_time(), busy_time(rank.account));
    const std::vector<std::int32_t> path = critical_path(e.graph, e.timeline);
    ASSERT_FALSE(path.empty());
    // The path is gapless: each task starts no later than its predecessor's end, and the last ends with the window.
    Picoseconds reached = e.timeline.start[static_cast<std::size_t>(path.front())];
    EXPECT_LE(reached, e.timeline.window_start);
    for (const std::int32_t id : path) {
        EXPECT_LE(e.timeline.start[static_cast<std::size_t>(id)], reached) << task_name(e.graph, id);
        reached = std::max(reached, e.timeline.end[static_cast<std::size_t>(id)]);
    }
    EXPECT_EQ(reached, e.timeline.window_end);
}

/// Numbers ranks backwards, together with the placement of stages.
Schedule renumbered(const Schedule& schedule) {
    Schedule other = schedule;
    std::reverse(other.actions.begin(), other.actions.end());
    for (int& rank : other.stage_rank) rank = schedule.ranks - 1 - rank;
    return other;
}

TEST_P(RandomJob, RenumberingRanksWithTheirPlacementChangesNothing) {
    const Job job = test::random_job(GetParam());
    const Evaluation e = evaluate(job);
    const TaskGraph graph = lower(job, renumbered(e.schedule));
    // Costs belong to stages and links; the links' classes are those of the first numbering.
    Durations durations;
    for (const Work& work : graph.works) {
        const int stage_or_rank = work.kind == TaskKind::pass ? work.stage : job.plan.pp - 1 - work.stage;
        for (std::size_t w = 0; w < e.graph.works.size(); ++w) {
            const Work& known = e.graph.works[w];
            if (known.kind == work.kind && known.stage == stage_or_rank && known.pass == work.pass &&
                known.first_unit == work.first_unit && known.units == work.units) {
                durations.works.push_back(e.durations.works[w]);
                break;
            }
        }
    }
    for (const CommClass& comm : graph.comm_classes) {
        const bool pair = comm.axis == Axis::pp || comm.axis == Axis::embedding;
        const int from = pair ? job.plan.pp - 1 - comm.from_rank : comm.from_rank;
        const int to = pair ? job.plan.pp - 1 - comm.to_rank : comm.to_rank;
        for (std::size_t c = 0; c < e.graph.comm_classes.size(); ++c) {
            const CommClass& known = e.graph.comm_classes[c];
            if (known.kind == comm.kind && known.axis == comm.axis && known.message == comm.message &&
                known.from_rank == from && known.to_rank == to) {
                durations.comms.push_back(e.durations.comms[c]);
                break;
            }
        }
    }
    ASSERT_EQ(durations.works.size(), graph.works.size());
    ASSERT_EQ(durations.comms.size(), graph.comm_classes.size());
    EXPECT_EQ(simulate(graph, durations).step_time(), e.timeline.step_time());
}

}  // namespace
}  // namespace foreshard
