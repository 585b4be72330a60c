#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/plan/buffer_plan.hpp"
#include "sim/result/memory_profile.hpp"
#include "tests/runtime/check_grid.hpp"
#include "tests/runtime/null_device.hpp"
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

/// What a compute task does to a kind of memory: at its begin, and then at its end. It takes messages over when it
/// begins and gives them away when it ends; its other tensors count as long as it runs, activations by the most it
/// holds.
struct Effect {
    ByteCount at_begin = 0;
    ByteCount at_end = 0;
};

Effect effect_of(const Log& log, std::size_t begin, MemoryKind kind) {
    Effect effect;
    ByteCount now = 0;
    for (std::size_t i = begin + 1; log[i].what != What::end || log[i].thread != log[begin].thread; ++i) {
        const MemoryEvent& event = log[i];
        if (event.what != What::change || event.kind != kind || event.thread != log[begin].thread) continue;
        now += event.bytes;
        const bool counts = kind == MemoryKind::activations ? now > effect.at_begin
                                                            : (kind == MemoryKind::messages) == (event.bytes < 0);
        if (kind == MemoryKind::activations && counts) effect.at_begin = now;
        if (kind != MemoryKind::activations && counts) effect.at_begin += event.bytes;
    }
    effect.at_end = now - effect.at_begin;
    return effect;
}

/// Most bytes of these kinds together since the step before the graph's last ended on the rank.
ByteCount measured(const Log& log, const std::vector<MemoryKind>& of, const TaskGraph& graph) {
    ByteCount now = 0;
    ByteCount most = 0;
    ByteCount at_end = 0;
    bool in_window = graph.window_step == 0;
    std::thread::id computes;
    for (std::size_t i = 0; i < log.size(); ++i) {
        const MemoryEvent& event = log[i];
        const bool compute = event.what != What::change && graph.stream_of(event.task).lane == Lane::compute;
        if (event.what == What::begin && compute) {
            computes = event.thread;
            for (const MemoryKind kind : of) {
                const Effect effect = effect_of(log, i, kind);
                now += effect.at_begin;
                at_end += effect.at_end;
            }
        } else if (event.what == What::end && compute) {
            now += std::exchange(at_end, 0);
            computes = {};
            // What is received early for the next step comes after the last one's.
            const Task& task = graph.tasks[static_cast<std::size_t>(event.task)];
            in_window = in_window || (task.kind == TaskKind::step_end && task.step + 1 == graph.window_step);
        } else if (event.what == What::change && event.thread != computes &&
                   std::find(of.begin(), of.end(), event.kind) != of.end()) {
            now += event.bytes;
        }
        if (in_window) most = std::max(most, now);
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
    if (type ==
        ElementType::bf16) {  // which the processor does not compute in; what is held does not depend on numbers
        options.train.device = [](const Plan&, int) { return std::make_unique<test::NullDevice>(ElementType::bf16); };
    }
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
            compare(rank, to_string(kind), measured(log, {kind}, graph),
                    planned(graph, part_of(buffers, kind, ratio), timeline, simulated));
        }
        const RankRecord& record = run.outcome.ranks[static_cast<std::size_t>(rank)];
        const ByteCount total = measured(log, {kinds.begin(), kinds.end()}, graph);
        compare(rank, "total", total, ratio * planned(graph, buffers, timeline, simulated));
        if (graph.steps == 1) compare(rank, "meter", record.high_water.total(), total);
        compare(rank, "ranges", record.pool.ranges, 1);
    }
    return text;
}

TEST(HighWater, IsThePlansForEveryRankAndKind) {
    const std::vector<GridPoint> points = covering_points(4000, 1);
    for (std::size_t i = 0; i < points.size(); i += 3) {
        const ElementType type = i % 2 == 0 ? ElementType::fp32 : ElementType::fp64;
        EXPECT_EQ(differences(*job_of(points[i]), type), "") << to_string(points[i]);
    }
}

/// Activations of 2 bytes beside statistics, gradients and optimizer states of 4.
TEST(HighWater, IsThePlansInBf16) {
    const std::vector<GridPoint> points = covering_points(4000, 1);
    for (std::size_t i = 1; i < points.size(); i += 3) {
        Job job = *job_of(points[i]);
        job.plan.precision = Precision::bf16;
        EXPECT_EQ(differences(job, ElementType::bf16), "") << to_string(points[i]);
    }
}

TEST(HighWater, IsThePlansWithFlashAttention) {
    const std::vector<GridPoint> points = covering_points(400, 3);
    for (std::size_t i = 0; i < points.size(); ++i) {
        Job job = with_flash_attention(*job_of(points[i]));
        const ElementType type = i % 2 == 0 ? ElementType::fp32 : ElementType::bf16;
        job.plan.precision = i % 2 == 0 ? Precision::fp32 : Precision::bf16;
        EXPECT_EQ(differences(job, type), "") << to_string(points[i]);
    }
}

/// ZeRO-2 runs with one micro-batch, and holds whole gradients.
TEST(HighWater, IsThePlansUnderZero2) {
    JobRequest request = foreshard::test::tiny_request(1, 2);
    request.software = std::string("foreshard");
    request.dp = 2;
    request.gpus = 2;
    request.mbs = 1;
    request.gbs = 2;
    request.zero = 2;
    EXPECT_EQ(differences(foreshard::test::valid_job(request), ElementType::fp32), "");
}

}  // namespace
}  // namespace foreshard::runtime
