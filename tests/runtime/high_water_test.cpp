#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/plan/buffer_plan.hpp"
#include "sim/result/memory_profile.hpp"
#include "tests/runtime/check_grid.hpp"
#include "tests/support/jobs.hpp"

/// What a rank holds at most is what the buffer plan says, when the plan is laid along the order in which things really
/// happened.
namespace foreshard::runtime {
namespace {

using What = MemoryEvent::What;
using Log = std::vector<MemoryEvent>;

constexpr std::array<MemoryKind, memory_kinds> kinds = {
    MemoryKind::weights, MemoryKind::gradients, MemoryKind::optimizer, MemoryKind::activations, MemoryKind::messages};

/// Places in a log, of one task.
struct Ticks {
    std::int64_t begin = 0;
    std::int64_t first = -1;  ///< of the changes that its thread made
    std::int64_t last = -1;
    std::int64_t end = 0;
};

std::map<std::int32_t, Ticks> ticks_of(const Log& log) {
    std::map<std::int32_t, Ticks> all;
    std::map<std::thread::id, std::int32_t> at_work;
    for (std::size_t i = 0; i < log.size(); ++i) {
        const MemoryEvent& event = log[i];
        const auto tick = static_cast<std::int64_t>(i) + 1;
        if (event.what == What::begin) {
            all[event.task].begin = tick;
            at_work[event.thread] = event.task;
        } else if (event.what == What::end) {
            all[event.task].end = tick;
            at_work.erase(event.thread);
        } else if (at_work.contains(event.thread)) {
            Ticks& ticks = all[at_work[event.thread]];
            if (ticks.first < 0) ticks.first = tick;
            ticks.last = tick;
        }
    }
    return all;
}

/// The order of a rank's log as times. What is received, gathered or freed by communication is so where it is counted.
Timeline timeline_of(const TaskGraph& graph, const Log& log) {
    Timeline timeline;
    timeline.start.resize(graph.tasks.size());
    timeline.end.resize(graph.tasks.size());
    for (const auto& [task, ticks] : ticks_of(log)) {
        const bool counts = graph.stream_of(task).lane != Lane::compute && ticks.first >= 0;
        timeline.start[static_cast<std::size_t>(task)] = counts ? ticks.first : ticks.begin;
        timeline.end[static_cast<std::size_t>(task)] = counts ? ticks.last : ticks.end;
    }
    return timeline;
}

/// The plan's part that is of one kind, in elements of `bytes_ratio` times its own.
BufferPlan part_of(BufferPlan plan, MemoryKind kind, ByteCount bytes_ratio) {
    const bool passes = kind == MemoryKind::activations;
    for (StateBytes& states : plan.states) {
        StateBytes part;
        if (kind == MemoryKind::weights) part.weights = bytes_ratio * states.weights;
        if (kind == MemoryKind::gradients) part.gradients = bytes_ratio * states.gradients;
        if (kind == MemoryKind::gradients) part.optimizer_step = bytes_ratio * states.optimizer_step;
        if (kind == MemoryKind::optimizer) part.optimizer = bytes_ratio * states.optimizer;
        states = part;
    }
    for (PassBuffers& pass : plan.works) {
        pass = passes ? PassBuffers{bytes_ratio * pass.acquired, bytes_ratio * pass.released,
                                    bytes_ratio * pass.transient, bytes_ratio * pass.tail}
                      : PassBuffers{};
    }
    const std::map<MemoryKind, HoldingKind> holding = {{MemoryKind::weights, HoldingKind::gathered},
                                                       {MemoryKind::gradients, HoldingKind::gradients},
                                                       {MemoryKind::messages, HoldingKind::message}};
    std::erase_if(plan.holdings,
                  [&](const Holding& held) { return !holding.contains(kind) || held.kind != holding.at(kind); });
    for (Holding& held : plan.holdings) held.bytes *= bytes_ratio;
    return plan;
}

ByteCount planned(const TaskGraph& graph, const BufferPlan& plan, const Timeline& timeline, int simulated) {
    return memory_profiles(graph, plan, timeline, 0)[static_cast<std::size_t>(simulated)].peak;
}

/// Most of one kind. A compute task takes messages over when it begins and gives them away when it ends; its tensors
/// count as long as it runs.
ByteCount measured(const Log& log, MemoryKind kind, const TaskGraph& graph) {
    ByteCount now = 0;
    ByteCount most = 0;
    ByteCount later = 0;  ///< freed, or given away, at the end of the compute task
    std::thread::id computes;
    const auto before_end = [&](std::size_t i) { return log[i].thread == computes; };
    for (std::size_t i = 0; i < log.size(); ++i) {
        const MemoryEvent& event = log[i];
        const bool compute = event.what != What::change && graph.stream_of(event.task).lane == Lane::compute;
        if (event.what == What::begin && compute) {
            computes = event.thread;
            // What the task does to this kind, at once where that is when it begins.
            for (std::size_t j = i + 1; log[j].what != What::end || !before_end(j); ++j) {
                if (log[j].what != What::change || log[j].kind != kind || !before_end(j)) continue;
                const bool at_begin = (kind == MemoryKind::messages) == (log[j].bytes < 0);
                (at_begin ? now : later) += log[j].bytes;
            }
        } else if (event.what == What::end && compute) {
            now += std::exchange(later, 0);
            computes = {};
        } else if (event.what == What::change && event.kind == kind && event.thread != computes) {
            now += event.bytes;
        }
        most = std::max(most, now);
    }
    return most;
}

/// Of activations, which compute tasks alone change: as they are.
ByteCount measured_activations(const Log& log) {
    ByteCount now = 0;
    ByteCount most = 0;
    for (const MemoryEvent& event : log) {
        if (event.what != What::change || event.kind != MemoryKind::activations) continue;
        most = std::max(most, now += event.bytes);
    }
    return most;
}

struct Run {
    Outcome outcome;
    std::vector<Log> logs;
};

Run run_logged(const Plan& plan, ElementType type) {
    Run run;
    run.logs.resize(static_cast<std::size_t>(plan.ranks.count()));
    JobOptions options;
    options.timeout = std::chrono::seconds(60);
    options.train.steps = plan.graph.steps;
    options.train.type = type;
    options.train.memory_logs = &run.logs;
    run.outcome = run_as_threads(plan, options, {[](const RunRecord&) {}});
    return run;
}

/// Differences, one a line; empty when there are none.
std::string differences(const Job& job, ElementType type) {
    const Schedule schedule = make_schedule(job);
    const TaskGraph graph = lower(job, schedule);
    const Ranks ranks(job);
    const Plan plan{job, schedule, graph, ranks};
    const Run run = run_logged(plan, type);
    if (run.outcome.failure) return run.outcome.failure->reason;
    const BufferPlan buffers = plan_buffers(job, graph);
    const ByteCount ratio = type == ElementType::fp64 ? 2 : 1;
    std::string text;
    const auto compare = [&](int rank, std::string_view what, ByteCount is, ByteCount planned) {
        if (is != planned) text += fmt::format("rank {} {}: {} measured, {} planned\n", rank, what, is, planned);
    };
    for (int rank = 0; rank < ranks.count(); ++rank) {
        const Log& log = run.logs[static_cast<std::size_t>(rank)];
        const Timeline timeline = timeline_of(graph, log);
        const int simulated = ranks.position(rank).pp;
        for (const MemoryKind kind : kinds) {
            const ByteCount is =
                kind == MemoryKind::activations ? measured_activations(log) : measured(log, kind, graph);
            compare(rank, to_string(kind), is, planned(graph, part_of(buffers, kind, ratio), timeline, simulated));
        }
        const RankRecord& record = run.outcome.ranks[static_cast<std::size_t>(rank)];
        compare(rank, "total", record.high_water.total(), ratio * planned(graph, buffers, timeline, simulated));
        compare(rank, "ranges", record.pool.ranges, 1);
    }
    return text;
}

TEST(HighWater, IsThePlansForEveryRankAndKind) {
    const std::vector<GridPoint> points = covering_points(4000, 1);
    for (std::size_t i = 0; i < points.size(); i += 4) {
        const ElementType type = i % 8 == 0 ? ElementType::fp32 : ElementType::fp64;
        EXPECT_EQ(differences(*job_of(points[i]), type), "") << to_string(points[i]);
    }
}

}  // namespace
}  // namespace foreshard::runtime
