#include "sim/spec/calibration.hpp"

#include <gtest/gtest.h>

#include "sim/cost/calibrated.hpp"
#include "sim/engine/computing_ranks.hpp"
#include "sim/engine/estimate.hpp"
#include "sim/engine/evaluate.hpp"
#include "sim/plan/op_graph.hpp"
#include "sim/prefixes.hpp"
#include "tests/support/jobs.hpp"

/// What a calibration changes in a prediction, against closed forms.
namespace foreshard {
namespace {

OpLaw law(const std::string& op, double base_us, double gflops, double gbytes) {
    return {op, Seconds(base_us * micro), FlopsPerSecond(gflops * giga), BytesPerSecond(gbytes * giga), 1.0, 1e12, {}};
}

/// Laws of classes: every op has one. GEMMs 10 us + FLOPs / 50 GFLOP/s, attention 40, memory 2 us + bytes / 5 GB/s.
Calibration simple() {
    Calibration out;
    out.id = out.name = "simple";
    out.machine.dtype = "fp32";
    out.machine.software = "foreshard";
    out.ops = {law("attention.matmul", 0.0, 40.0, 0.0), law("gemm.forward", 10.0, 50.0, 0.0),
               law("gemm.input_grad", 10.0, 50.0, 0.0), law("gemm.weight_grad", 10.0, 50.0, 0.0),
               law("memory.any", 2.0, 0.0, 5.0)};
    out.pass_overhead = Seconds(0.0);
    return out;
}

Job job_with(Calibration calibration, int pp = 1, int microbatches = 1) {
    JobRequest request = test::tiny_request(pp, microbatches);
    request.software = "foreshard";
    request.precision = "fp32";
    std::sort(calibration.ops.begin(), calibration.ops.end(), [](const auto& a, const auto& b) { return a.op < b.op; });
    request.calibration = std::make_shared<const Calibration>(std::move(calibration));
    return test::valid_job(request);
}

double by_hand(const std::vector<Op>& ops) {
    double seconds = 0.0;
    for (const Op& op : ops) {
        const double flops = op.flops.value;
        const double bytes = (op.read + op.written).value;
        if (op.kind == OpKind::gemm) seconds += 10e-6 + flops / 50e9;
        if (op.kind == OpKind::attention_matmul) seconds += flops / 40e9;
        if (op.kind == OpKind::memory) seconds += 2e-6 + bytes / 5e9;
    }
    return seconds;
}

double forward_by_hand(const TaskGraph& graph) {
    double seconds = 0.0;
    for (const OpBlock& block : graph.stages.front().blocks) seconds += block.repeat * by_hand(block.forward);
    return seconds;
}

double forward_seconds(const Evaluation& e) {
    for (std::size_t i = 0; i < e.graph.works.size(); ++i) {
        const Work& work = e.graph.works[i];
        if (work.kind == TaskKind::pass && work.pass == Pass::forward && work.stage == 0)
            return to_seconds(e.durations.works[i].total()).value;
    }
    return 0.0;
}

constexpr double picosecond = 1e-12;

TEST(CalibratedPrediction, PassTakesTheSumOfItsLaws) {
    const Evaluation e = evaluate(job_with(simple()));
    EXPECT_NEAR(forward_seconds(e), forward_by_hand(e.graph), picosecond);
}

/// One law of one op: a forward pass grows by what that op grows by, once a layer.
TEST(CalibratedPrediction, OneLawMovesAPassByItsOpAndNoMore) {
    const Evaluation before = evaluate(job_with(simple()));
    Calibration slow = simple();
    slow.ops.push_back(law("fc1", 500.0, 20.0, 0.0));
    const Evaluation after = evaluate(job_with(slow));
    double difference = 0.0;
    for (const OpBlock& block : before.graph.stages.front().blocks) {
        for (const Op& op : block.forward) {
            if (op.name == "fc1") difference += block.repeat * (490e-6 + op.flops.value * (1.0 / 20e9 - 1.0 / 50e9));
        }
    }
    EXPECT_GT(difference, 490e-6);
    EXPECT_NEAR(forward_seconds(after) - forward_seconds(before), difference, picosecond);
}

/// Forward pass of the first stage, each op slowed by what its kind loses where `others` more ranks compute.
double slowed_forward(const TaskGraph& graph, double others) {
    double seconds = 0.0;
    for (const OpBlock& block : graph.stages.front().blocks) {
        for (const Op& op : block.forward) {
            if (op.kind != OpKind::collective)
                seconds += block.repeat * by_hand({op}) * (1.0 + others * (op.kind == OpKind::memory ? 2.0 : 0.5));
        }
    }
    return seconds;
}

/// A rank alone is not slowed, two replicas always are, and ranks of a pipeline while both compute.
TEST(CalibratedPrediction, SharedHostSlowsEachKindOfOp) {
    Calibration shared = simple();
    shared.shared_host = {{2, 1.5, 3.0}};
    const Evaluation alone = evaluate(job_with(shared, 1, 4));
    EXPECT_NEAR(forward_seconds(alone), forward_by_hand(alone.graph), picosecond);
    const Evaluation pipeline = evaluate(job_with(shared, 2, 4));
    const double others = pipeline.job.computing_ranks - 1.0;
    EXPECT_GT(others, 0.3);
    EXPECT_LT(others, 0.95);
    EXPECT_NEAR(computing_ranks(pipeline.graph, pipeline.timeline) - 1.0, others, 0.02);
    EXPECT_NEAR(forward_seconds(pipeline), slowed_forward(pipeline.graph, others), picosecond);
}

TEST(CalibratedPrediction, ReplicasAlwaysComputeTogether) {
    Calibration shared = simple();
    shared.shared_host = {{2, 1.5, 3.0}};
    JobRequest request = test::tiny_request(1, 4);
    request.dp = 2;
    request.gbs = 8;
    request.gpus = 2;
    request.software = "foreshard";
    request.precision = "fp32";
    request.calibration = std::make_shared<const Calibration>(shared);
    const Evaluation e = evaluate(test::valid_job(request));
    EXPECT_DOUBLE_EQ(e.job.computing_ranks, 2.0);
    EXPECT_NEAR(forward_seconds(e), slowed_forward(e.graph, 1.0), picosecond);
}

/// Passes of equal length on two ranks: GPipe with m micro-batches overlaps m - 1 of the m + 1 slots of each direction.
TEST(ComputingRanks, OfAPipelineFollowFromItsBubbles) {
    for (const int m : {1, 2, 4, 8}) {
        const Job job = test::timed_job(ScheduleKind::gpipe, 2, m, 1, 1000, 1000, 0);
        const Evaluation e = evaluate(job);
        // m - 1 slots with both ranks, two with one: sum of squares over sum.
        const double expected = (4.0 * (m - 1) + 2.0) / (2.0 * (m - 1) + 2.0);
        EXPECT_NEAR(computing_ranks(e.graph, e.timeline), expected, 1e-12) << m;
    }
}

TEST(CalibratedPrediction, OptimizerTakesItsLaw) {
    Calibration with = simple();
    with.optimizer = OptimizerLaw{Seconds(7e-6), 1e9};
    const Evaluation e = evaluate(job_with(with));
    const double parameters = optimizer_parameters(e.job, e.graph, 0);
    const RankReport& rank = e.report.ranks.front();
    EXPECT_NEAR(to_seconds(rank.account[static_cast<std::size_t>(Account::optimizer)]).value, 7e-6 + parameters / 1e9,
                picosecond);
}

TEST(CalibratedPrediction, MessagesTakeTheirLawAndTheWakeup) {
    Calibration with = simple();
    with.messages = MessageLaw{Seconds(20e-6), BytesPerSecond(2e9)};
    with.wakeup = Seconds(5e-6);
    const Evaluation e = evaluate(job_with(with, 2, 4));
    ASSERT_FALSE(e.graph.comm_classes.empty());
    for (std::size_t i = 0; i < e.graph.comm_classes.size(); ++i) {
        const CommClass& comm = e.graph.comm_classes[i];
        if (comm.kind != CollectiveKind::send_recv) continue;
        EXPECT_NEAR(to_seconds(e.durations.comms[i].busy).value, 20e-6 + comm.message.value / 2e9, picosecond);
        EXPECT_NEAR(to_seconds(e.durations.comms[i].latency).value, 5e-6, picosecond);
    }
}

/// Between its points the curve, in logarithms; the law does not matter there.
TEST(CalibratedPrediction, MessagesAndCollectivesTakeTheirCurves) {
    Calibration with = simple();
    with.messages = MessageLaw{Seconds(20e-6), BytesPerSecond(2e9)};
    with.comm_tables = {{CollectiveKind::send_recv, 2, {{1.0, Seconds(1e-6)}, {1e12, Seconds(1.0)}}}};
    const Evaluation e = evaluate(job_with(with, 2, 4));
    int messages = 0;
    for (std::size_t i = 0; i < e.graph.comm_classes.size(); ++i) {
        const CommClass& comm = e.graph.comm_classes[i];
        if (comm.kind != CollectiveKind::send_recv) continue;
        ++messages;
        EXPECT_NEAR(to_seconds(e.durations.comms[i].busy).value, 1e-6 * std::sqrt(comm.message.value), picosecond);
    }
    EXPECT_GT(messages, 0);
}

Job replicas_with(Calibration calibration, int dp) {
    JobRequest request = test::tiny_request(1, 2);
    request.dp = dp;
    request.gbs = 2 * dp;
    request.gpus = dp;
    request.software = "foreshard";
    request.precision = "fp32";
    request.calibration = std::make_shared<const Calibration>(std::move(calibration));
    return test::valid_job(request);
}

/// Replicas wait once a step, by the time that a rank computes in it.
TEST(CalibratedPrediction, ReplicasWaitOnceAStep) {
    Calibration with = simple();
    const Evaluation before = evaluate(replicas_with(with, 2));
    with.rank_lead = RankLeadLaw{Seconds(1e-3), 0.1, 0.5};
    const Evaluation after = evaluate(replicas_with(with, 2));
    const RankAccount& account = before.report.ranks.front().account;
    const Seconds computed = to_seconds(account[static_cast<std::size_t>(Account::forward)] +
                                        account[static_cast<std::size_t>(Account::backward)]);
    const double expected = computed.value * 0.1 * std::pow(computed.value / 1e-3, -0.5);
    EXPECT_GT(expected, 1e-5);
    EXPECT_NEAR((after.report.summary.step_time_ms - before.report.summary.step_time_ms) * 1e-3, expected, picosecond);
    EXPECT_EQ(evaluate(replicas_with(with, 1)).report.summary.step_time_ms,
              evaluate(replicas_with(simple(), 1)).report.summary.step_time_ms);
}

/// Every message of a pipeline comes later, by the mean pass; nothing else changes.
TEST(CalibratedPrediction, PipelinesWaitAtEveryMessage) {
    Calibration with = simple();
    with.messages = MessageLaw{Seconds(20e-6), BytesPerSecond(2e9)};
    const Evaluation before = evaluate(job_with(with, 2, 4));
    with.rank_lead = RankLeadLaw{Seconds(1e-3), 0.1, 0.0};
    const Evaluation after = evaluate(job_with(with, 2, 4));
    double sum = 0.0;
    int passes = 0;
    for (const Task& task : before.graph.tasks) {
        if (task.kind != TaskKind::pass) continue;
        sum += to_seconds(before.durations.works[static_cast<std::size_t>(task.work)].total()).value;
        ++passes;
    }
    for (std::size_t i = 0; i < before.graph.comm_classes.size(); ++i) {
        const double later = to_seconds(after.durations.comms[i].latency - before.durations.comms[i].latency).value;
        const bool message = before.graph.comm_classes[i].axis == Axis::pp;
        EXPECT_NEAR(later, message ? 0.1 * sum / passes : 0.0, picosecond);
    }
    EXPECT_GT(after.report.summary.bubble_ratio, before.report.summary.bubble_ratio);
}

TEST(CalibratedPrediction, AWayOfCommunicationSlowsAllOps) {
    Calibration with = simple();
    with.transport_ratio = 1.25;
    const Evaluation e = evaluate(job_with(with));
    EXPECT_NEAR(forward_seconds(e), 1.25 * forward_by_hand(e.graph), picosecond);
}

TEST(CalibratedPrediction, ReportTellsWhichCommunicationWasNotMeasured) {
    const std::string note = "messages between ranks: the links of ";
    const auto told = [&](const Calibration& calibration, int pp) {
        const std::vector<std::string> notes = evaluate(job_with(calibration, pp, 4)).report.assumptions;
        return std::any_of(notes.begin(), notes.end(),
                           [&](const std::string& each) { return each.find(note) != std::string::npos; });
    };
    Calibration with = simple();
    EXPECT_TRUE(told(with, 2));
    EXPECT_FALSE(told(with, 1));
    with.messages = MessageLaw{Seconds(20e-6), BytesPerSecond(2e9)};
    EXPECT_FALSE(told(with, 2));
}

/// What ranks wait for each other is in the account of their communication.
TEST(CalibratedPrediction, TensorParallelRanksWaitForTheSlowest) {
    const auto forward = [](std::optional<double> ratio) {
        Calibration with = simple();
        with.rank_wait_ratio = ratio;
        JobRequest request = test::tiny_request(1, 2);
        request.tp = 2;
        request.gpus = 2;
        request.software = "foreshard";
        request.precision = "fp32";
        request.calibration = std::make_shared<const Calibration>(std::move(with));
        return evaluate(test::valid_job(request)).report.ranks.front().account;
    };
    const auto of = [](const RankAccount& account, Account part) {
        return to_seconds(account[static_cast<std::size_t>(part)]).value;
    };
    const RankAccount without = forward(std::nullopt);
    const RankAccount waiting = forward(0.05);
    const double computed = of(without, Account::forward) + of(without, Account::backward);
    EXPECT_NEAR(of(waiting, Account::exposed_tp), of(without, Account::exposed_tp) + 0.05 * computed, 1e-9);
    EXPECT_NEAR(of(waiting, Account::forward), of(without, Account::forward), picosecond);
}

/// The closed form asks the same models.
TEST(CalibratedPrediction, EstimateStaysALowerBound) {
    Calibration with = simple();
    with.messages = MessageLaw{Seconds(20e-6), BytesPerSecond(2e9)};
    with.optimizer = OptimizerLaw{Seconds(7e-6), 1e9};
    with.pass_overhead = Seconds(3e-6);
    for (const int pp : {1, 2, 4}) {
        const Evaluation e = evaluate(job_with(with, pp, 8));
        ASSERT_TRUE(e.report.estimate);
        EXPECT_LE(e.report.estimate->step_time_ms, e.report.summary.step_time_ms * (1.0 + 1e-12)) << pp;
        EXPECT_GT(e.report.estimate->step_time_ms, 0.5 * e.report.summary.step_time_ms) << pp;
    }
}

TEST(CalibratedPrediction, BandIsTheGroupsWeightedByTheirTime) {
    Calibration with = simple();
    with.optimizer = OptimizerLaw{Seconds(0.0), 1e9};
    for (const char* group : {"attention", "gemm", "memory", "optimizer"}) with.bands.push_back({group, 9, 0.9, 1.2});
    const Summary alike = evaluate(job_with(with)).report.summary;
    EXPECT_NEAR(*alike.step_time_low_ms, 0.9 * alike.step_time_ms, 1e-9);
    EXPECT_NEAR(*alike.step_time_high_ms, 1.2 * alike.step_time_ms, 1e-9);
    with.bands[1] = {"gemm", 9, 0.5, 1.2};
    const Summary wider = evaluate(job_with(with)).report.summary;
    EXPECT_LT(*wider.step_time_low_ms, 0.9 * wider.step_time_ms);
    EXPECT_GT(*wider.step_time_low_ms, 0.5 * wider.step_time_ms);
    with.step_band = CalibrationBand{"step", 5, 0.98, 1.01};
    const Summary whole = evaluate(job_with(with)).report.summary;
    EXPECT_NEAR(*whole.step_time_low_ms, 0.98 * whole.step_time_ms, 1e-9);
    EXPECT_NEAR(*whole.step_time_high_ms, 1.01 * whole.step_time_ms, 1e-9);
}

bool tells(const Report& report, const std::string& text) {
    return std::any_of(report.assumptions.begin(), report.assumptions.end(),
                       [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST(CalibratedPrediction, ReportTellsWhatIsCovered) {
    Calibration some = simple();
    some.ops = {law("fc1", 1.0, 50.0, 0.0), law("gemm.forward", 1.0, 50.0, 0.0)};
    some.ops.front().most_amount = 1e3;
    const Report report = evaluate(job_with(some)).report;
    EXPECT_TRUE(tells(report, "calibration simple: measured laws of: fc1"));
    EXPECT_TRUE(tells(report, "laws of like ops for: fc2, logits, projection, qkv"));
    EXPECT_TRUE(tells(report, "does not cover, so that the model's figures stand for: activation, "));
    EXPECT_TRUE(tells(report, "far outside the sizes that were measured: fc1 (x "));
}

/// Laws of another number format say nothing; links do.
TEST(CalibratedPrediction, LawsOfAnotherNumberFormatAreNotUsed) {
    Calibration other = simple();
    other.machine.dtype = "bf16";
    const Evaluation e = evaluate(job_with(other));
    EXPECT_TRUE(tells(e.report, "measured in bf16, and the plan is in fp32: not used"));
    Job without = e.job;
    without.calibration = nullptr;
    EXPECT_EQ(forward_seconds(e), forward_seconds(evaluate(without)));
}

/// Kernels that were measured by themselves are slower in a framework, by the profile's factors.
TEST(CalibratedPrediction, FactorsOfAnotherProfileMultiplyTheLaws) {
    Job job = job_with(simple());
    job.software.numbers.gemm_time_factor = 2.0;
    Op any;
    any.name = "fc1";
    any.kind = OpKind::gemm;
    any.flops = Flops(5e9);
    const double with_own = CalibratedCost(job).time(any).seconds.value;
    EXPECT_NEAR(with_own, 10e-6 + 0.1, 1e-12);
    job.software.id = "megatron-2022";
    EXPECT_NEAR(CalibratedCost(job).time(any).seconds.value, 2.0 * with_own, 1e-12);
}

}  // namespace
}  // namespace foreshard
