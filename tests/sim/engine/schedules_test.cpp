#include "sim/plan/schedules.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "sim/spec/schedule_kinds.hpp"
#include "tests/support/jobs.hpp"

/// Every named schedule through the whole chain: job, schedule, lowering, engine, report.
namespace foreshard {
namespace {

struct PipelineShape {
    int p;
    int m;
};

/// Valid for every schedule.
const std::vector<PipelineShape>& shapes() {
    static const std::vector<PipelineShape> all = {{2, 4}, {2, 8}, {4, 8}, {4, 12}, {6, 12}, {8, 16}};
    return all;
}

Job job_of(ScheduleKind kind, PipelineShape s, StageTimes::Stage t, Picoseconds hop = 0) {
    return test::timed_job(kind, s.p, s.m, traits_of(kind).chunks, t.forward, t.input_grad, t.weight_grad, hop);
}

template <class Use>
void for_each_kind(Use use) {
    for (const ScheduleTraits& traits : schedule_kinds()) {
        if (traits.kind == ScheduleKind::none) continue;
        SCOPED_TRACE(traits.id);
        use(traits);
    }
}

TEST(Schedules, TheEngineTakesAsLongAsTheDataflow) {
    for_each_kind([](const ScheduleTraits& traits) {
        if (traits.asynchronous) return;
        for (const PipelineShape& s : shapes()) {
            for (const StageTimes::Stage& t : {StageTimes::Stage{1, 1, 1}, {2, 3, 1}, {70, 50, 110}}) {
                for (const Picoseconds hop : {Picoseconds{0}, Picoseconds{2}}) {
                    const Job job = job_of(traits.kind, s, t, hop);
                    const Evaluation e = evaluate(job);
                    // A collective over the vocabulary takes its latency on every member, also on the one that starts
                    // it; the dataflow counts latency between ranks only.
                    if (hop > 0 && e.schedule.vocabulary) continue;
                    const DryRun run = dry_run(e.schedule, {job.stage_times->stages, hop});
                    ASSERT_EQ(e.timeline.step_time(), run.makespan) << s.p << " " << s.m;
                    const Picoseconds work = s.m * traits.chunks * (t.forward + t.input_grad + t.weight_grad) /
                                             (traits.placement == Placement::bidirectional ? 2 : 1);
                    const auto span = static_cast<double>(longest_rank_span(run));
                    EXPECT_NEAR(e.report.summary.bubble_span_ratio, 1.0 - static_cast<double>(work) / span, 1e-12);
                }
            }
        }
    });
}

/// With several steps and no barrier, the skew between ranks is free: a step takes the longest rank's span.
TEST(Schedules, SkewIsFreeOverSeveralSteps) {
    for (const ScheduleKind kind : {ScheduleKind::one_f_one_b, ScheduleKind::zb_h1, ScheduleKind::zb_h2,
                                    ScheduleKind::zb_1p, ScheduleKind::zb_2p, ScheduleKind::zb_v}) {
        for (const PipelineShape& s : {PipelineShape{2, 6}, PipelineShape{4, 12}, PipelineShape{8, 24}}) {
            Job job = job_of(kind, s, {10, 10, 10});
            const DryRun run = dry_run(make_schedule(job), {job.stage_times->stages, 0});
            EXPECT_EQ(evaluate(job).timeline.step_time(), run.makespan);
            job.plan.skew_steps = 4;
            EXPECT_EQ(evaluate(job).timeline.step_time(), longest_rank_span(run)) << to_string(kind) << " " << s.p;
        }
    }
}

TEST(Schedules, SkewedStepsWithOptimizerKeepTheOrderOfSchedules) {
    const auto step = [](const char* schedule, int steps) {
        JobRequest request = test::tiny_request(4, 12);
        request.schedule = schedule;
        request.skew_steps = steps;
        return evaluate(test::valid_job(request)).timeline.step_time();
    };
    EXPECT_LE(step("zb-2p", 4), step("zb-2p", 0));
    EXPECT_EQ(step("zb-2p", 4), step("zb-2p", 5));
}

/// PipeDream section 3.2: in steady state a batch takes the slowest stage's forward and backward, for every
/// micro-batch.
TEST(Schedules, AsynchronousPipelinesRunAtTheSlowestStage) {
    for (const ScheduleKind kind : {ScheduleKind::pipedream, ScheduleKind::pipedream_2bw}) {
        for (const PipelineShape& s : {PipelineShape{2, 1}, PipelineShape{2, 4}, PipelineShape{4, 3},
                                       PipelineShape{4, 8}, PipelineShape{8, 7}, PipelineShape{8, 32}}) {
            Job job = job_of(kind, s, {2, 3, 1});
            Evaluation e = evaluate(job);
            EXPECT_EQ(e.timeline.step_time(), s.m * 6) << s.p << " " << s.m;
            EXPECT_DOUBLE_EQ(e.report.summary.bubble_ratio, 0.0);
            EXPECT_DOUBLE_EQ(e.report.summary.samples_per_s, 1.0 / 6e-12);
            job.stage_times->stages[1] = {4, 5, 1};
            e = evaluate(job);
            EXPECT_EQ(e.timeline.step_time(), s.m * 10) << s.p << " " << s.m;
            EXPECT_NEAR(e.report.summary.bubble_ratio, 1.0 - (6.0 * (s.p - 1) + 10.0) / (10.0 * s.p), 1e-12);
        }
    }
}

TEST(Schedules, AsynchronousPipelinesUpdateAfterEveryBackwardOrBatch) {
    const auto optimizers = [](const char* schedule) {
        JobRequest request = test::tiny_request(4, 8);
        request.schedule = schedule;
        const Evaluation e = evaluate(test::valid_job(request));
        int count = 0;
        for (const Task& task : e.graph.tasks) {
            if (task.kind == TaskKind::optimizer && task.step == e.graph.window_step) ++count;
        }
        return count;
    };
    EXPECT_EQ(optimizers("1f1b"), 4);
    EXPECT_EQ(optimizers("pipedream"), 4 * 8);
    EXPECT_EQ(optimizers("pipedream-2bw"), 4);
}

TEST(Schedules, AsynchronousPipelinesHoldVersionsOfTheWeights) {
    const auto weights = [](const char* schedule, std::size_t rank) {
        JobRequest request = test::tiny_request(4, 8);
        request.schedule = schedule;
        request.untie_embeddings_and_output_weights = true;
        const Evaluation e = evaluate(test::valid_job(request));
        return e.report.ranks[rank].memory.states.weights;
    };
    for (std::size_t rank = 0; rank < 4; ++rank) {
        const ByteCount one = weights("1f1b", rank);
        EXPECT_EQ(weights("pipedream", rank), static_cast<ByteCount>(4 - rank) * one);
        EXPECT_EQ(weights("pipedream-2bw", rank), 2 * one);
    }
}

TEST(Schedules, AsynchronousPipelinesHoldAsManyActivationsAs1F1B) {
    const auto activations = [](const char* schedule) {
        JobRequest request = test::tiny_request(4, 8);
        request.schedule = schedule;
        const Evaluation e = evaluate(test::valid_job(request));
        std::vector<ByteCount> most;
        for (const RankReport& rank : e.report.ranks) {
            ByteCount peak = 0;
            for (const MemoryPoint& point : rank.memory.points) peak = std::max(peak, point.activations);
            most.push_back(peak);
        }
        return most;
    };
    EXPECT_EQ(activations("pipedream"), activations("1f1b"));
}

/// Two directions: both replicas of a stage are on two ranks, and their gradients are summed before the optimizer.
TEST(Schedules, TwoDirectionsHoldTwoReplicasAndSumTheirGradients) {
    for (const char* name : {"chimera", "dualpipe"}) {
        for (const int dp : {1, 2}) {
            JobRequest request = test::tiny_request(4, 8);
            request.schedule = name;
            request.gpus = 4 * dp;
            request.gbs = 8 * dp;
            const Evaluation e = evaluate(test::valid_job(request));
            int replica_reduces = 0;
            for (std::int32_t id = 0; id < static_cast<std::int32_t>(e.graph.comms.size()); ++id) {
                const Comm& comm = e.graph.comms[static_cast<std::size_t>(id)];
                const CommClass& kind = e.graph.comm_classes[static_cast<std::size_t>(comm.comm_class)];
                if (kind.axis != Axis::replica) continue;
                ++replica_reduces;
                const auto members = e.graph.members_of(id);
                ASSERT_EQ(members.size(), 2U);
                EXPECT_EQ(e.graph.rank_of(members[0]) + e.graph.rank_of(members[1]), 3);
            }
            EXPECT_EQ(replica_reduces, 4);
            for (const RankReport& rank : e.report.ranks) {
                EXPECT_EQ(rank.stages.size(), 2U);
                EXPECT_EQ(rank.layers, 4);
                const Picoseconds total = std::accumulate(rank.account.begin(), rank.account.end(), Picoseconds{0});
                EXPECT_EQ(total, e.timeline.step_time());
            }
            JobRequest plain = request;
            plain.schedule = "1f1b";
            plain.vpp = 1;
            const Evaluation one = evaluate(test::valid_job(plain));
            // The first and the last rank hold both ends, with the tied matrix once.
            const auto weights = [](const Evaluation& x, std::size_t r) {
                return x.report.ranks[r].memory.states.weights;
            };
            EXPECT_EQ(weights(e, 1), weights(one, 1) + weights(one, 2));
            EXPECT_LT(weights(e, 0), weights(one, 0) + weights(one, 3));
        }
    }
}

TEST(Schedules, EveryKindRunsWithTheModelsCosts) {
    for_each_kind([](const ScheduleTraits& traits) {
        for (const int skew : {0, 3}) {
            JobRequest request = test::tiny_request(4, 8);
            request.schedule = std::string(traits.id);
            request.skew_steps = traits.asynchronous ? 0 : skew;
            request.num_layers = 16;
            const Evaluation e = evaluate(test::valid_job(request));
            EXPECT_GT(e.timeline.step_time(), 0);
            for (const RankReport& rank : e.report.ranks) {
                const Picoseconds total = std::accumulate(rank.account.begin(), rank.account.end(), Picoseconds{0});
                EXPECT_EQ(total, e.timeline.step_time());
                for (const Picoseconds part : rank.account) EXPECT_GE(part, 0);
                EXPECT_EQ(rank.memory.points.front().activations, 0);
                EXPECT_EQ(rank.memory.points.back().activations, 0);
                for (const MemoryPoint& point : rank.memory.points) EXPECT_GE(point.activations, 0);
            }
            EXPECT_FALSE(critical_path(e.graph, e.timeline).empty());
        }
    });
}

TEST(Schedules, ASplitBackwardRecomputesALayerTwice) {
    const auto recompute = [](const char* schedule) {
        JobRequest request = test::tiny_request(4, 8);
        request.schedule = schedule;
        request.recompute = "full";
        const Evaluation e = evaluate(test::valid_job(request));
        return e.report.ranks[1].account[static_cast<std::size_t>(Account::recompute)];
    };
    EXPECT_EQ(recompute("zb-h1"), 2 * recompute("1f1b"));
}

}  // namespace
}  // namespace foreshard
